/**
 * Every column with a time of Gangway's own clock, by what happens to a time in the future after the
 * clock was ahead. `test/reconcile/read/clock-worker.test.ts` compares it with the tables.
 */
export interface StampedColumns {
  /** When something happened, or when to try again: cut back to now. */
  now: Readonly<Record<string, readonly string[]>>;
  /** Until when something is leased: cut back to the end of the longest lease. */
  lease: Readonly<Record<string, readonly string[]>>;
  /** Until when access is kept: cut back to the longest grace period from now. */
  grace: Readonly<Record<string, readonly string[]>>;
  /** `1:` and when the read began that last gave an attribute. */
  version: Readonly<Record<string, readonly string[]>>;
  /** Instants in order, separated by spaces. */
  absences: Readonly<Record<string, readonly string[]>>;
  /** Left as they are: times of the marketplace or of a tool, or times that only identify something. */
  left: Readonly<Record<string, readonly string[]>>;
}

export const stampedColumns: StampedColumns = {
  now: {
    account: ['seen_at'],
    alert: ['raised_at', 'seen_at', 'announced_at', 'over_at'],
    audit: ['at'],
    awaited_reading: ['since', 'lists_waited_since'],
    budget: ['state_since', 'asked_at', 'next_read_at', 'met_event_at', 'not_found_at', 'notified_at'],
    budget_reader: ['rest_until'],
    connected_install: ['connected_at'],
    contract: [
      'started_event_at',
      'ended_event_at',
      'active_read_at',
      'ended_read_at',
      'budget_event_at',
      'ended_by_operator_at',
      'reopened_at',
      'participants_read_at',
    ],
    contract_end: ['seen_at'],
    contract_link: ['named_at'],
    delivery: ['received_at', 'next_attempt_at'],
    derivation: ['evidence_at'],
    dispatch: ['created_at', 'settled_at'],
    drift_finding: ['since'],
    drift_listing: ['listed_at'],
    feed: ['next_read_at', 'read_at', 'failing_since'],
    final_reading: ['wanted_at', 'reported_at', 'report_after'],
    forgotten_person: ['forgotten_at'],
    guideline: ['written_at', 'looked_at', 'since'],
    guideline_reading: ['next_read_at', 'read_at'],
    install_grant: ['revoked_event_at', 'revoked_received_at', 'active_read_at', 'first_active_read_at'],
    install_state: [
      'held_since',
      'removals_held_since',
      'read_wanted_at',
      'read_began_at',
      'next_attempt_at',
      'list_wanted_at',
      'list_due_at',
      'active_listed_at',
    ],
    instance: ['started_at', 'beat_at', 'stopped_at', 'installs_loaded_at'],
    intent: ['created_at'],
    invitation: ['delivered_at'],
    kept_answer: ['begun_at'],
    left_project: ['ended_at'],
    link: ['removed_event_at', 'first_seen_at', 'seen_at', 'contracts_read_at'],
    link_reset: ['reset_at', 'next_attempt_at'],
    mailed: ['mailed_at'],
    membership: ['next_attempt_at', 'updated_at', 'missed_at'],
    membership_address: ['given_at', 'ended_at'],
    notice: ['occurred_at'],
    participation: ['seen_at'],
    payment_reader: ['next_read_at'],
    pending_payment: ['first_seen_at', 'seen_at'],
    plan: ['created_at', 'decided_at'],
    read_request: ['wanted_at', 'next_attempt_at'],
    receipt: ['created_at'],
    removal: ['cleared_at'],
    run: ['began_at', 'read_at', 'ended_at'],
    subscription: ['next_check_at', 'checked_at', 'creating_since', 'unmatched_at'],
    token_rotation: ['begun_at', 'attempted_at', 'switched_at', 'settled_at', 'next_attempt_at'],
    tool_trouble: ['since', 'asks_again_at'],
    usage_day: ['seen_at'],
    usage_decision: ['decided_at'],
    usage_import: ['counted_at', 'undone_at'],
    usage_ledger: ['sent_at', 'answered_at', 'closed_at', 'lowering_held_at', 'lowered_at'],
    usage_person: ['fallen_since'],
    usage_scope: [
      'next_read_at',
      'read_began_at',
      'complete_began_at',
      'refused_at',
      'failing_since',
      'gone_since',
      'alerted_at',
      'gap_since',
    ],
    usage_trouble: ['seen_at', 'alerted_at'],
    webhook_endpoint: ['stored_at'],
  },
  lease: {
    budget_reader: ['leased_until'],
    // Also when to try again. That is within an hour, and the lease of a running attempt must survive it.
    dispatch: ['next_attempt_at'],
    feed: ['leased_until'],
    guideline_reading: ['leased_until'],
    install_state: ['leased_until'],
    // As of a dispatch.
    invitation: ['next_attempt_at'],
    // `late_until` is when the last call can no longer arrive. It ends as a lease does.
    membership: ['leased_until', 'late_until'],
    named_lock: ['leased_until'],
    payment_reader: ['leased_until'],
    read_request: ['leased_until'],
    subscription: ['leased_until'],
    usage_import: ['kept_until'],
    usage_ledger: ['doubted_until'],
    usage_scope: ['leased_until'],
  },
  grace: { left_project: ['due_at'], membership: ['remove_after', 'unmet_since'] },
  version: {
    contract: ['title_version', 'start_date_version', 'end_date_version'],
    link: ['provisioning_mode_version'],
    person: ['display_name_version', 'work_email_version', 'address_missing_version'],
  },
  absences: {
    contract_link: ['omissions'],
    link: ['absences'],
    participation: ['absences'],
    pending_payment: ['absences'],
  },
  left: {
    account: ['made_at'],
    budget: ['last_usage_at'],
    contract: ['start_date', 'end_date'],
    // The time of an invitation identifies its mail.
    invitation: ['created_at', 'expires_at'],
    // What is in the journal is never changed.
    journal: ['at'],
    mailed: ['invited_at'],
    // A list, of which only the times of the last day count.
    subscription: ['enabled_at'],
    token_rotation: ['expires_at'],
    usage_ledger: ['lowered_from'],
  },
};
