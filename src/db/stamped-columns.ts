/**
 * Every column that holds an instant by our own clock, by what is to become of it where it lies in
 * the future because the clock was ahead. `test/reconcile/clock-worker.test.ts` compares it with the tables.
 */
export interface StampedColumns {
  /** When something was, or when to try again: never later than now, or now is as good. */
  now: Readonly<Record<string, readonly string[]>>;
  /** Until when nobody else may do something: it ends at the latest where the longest lease would. */
  lease: Readonly<Record<string, readonly string[]>>;
  /** Until when access is kept: at the latest for the longest grace from now on. */
  grace: Readonly<Record<string, readonly string[]>>;
  /** `1:` and when the reading began that said an attribute last. */
  version: Readonly<Record<string, readonly string[]>>;
  /** Instants in their order, with a space between. */
  absences: Readonly<Record<string, readonly string[]>>;
  /** Of the marketplace, of a tool, or the name of something rather than a time. */
  left: Readonly<Record<string, readonly string[]>>;
}

export const stampedColumns: StampedColumns = {
  now: {
    account: ['seen_at'],
    audit: ['at'],
    awaited_reading: ['since'],
    budget: ['state_since', 'asked_at', 'next_read_at', 'met_event_at', 'not_found_at', 'told_at'],
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
    final_reading: ['wanted_at', 'reported_at', 'report_after'],
    forgotten_person: ['forgotten_at'],
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
    instance: ['started_at', 'beat_at', 'stopped_at'],
    intent: ['created_at'],
    invitation: ['delivered_at', 'next_attempt_at'],
    left_project: ['ended_at'],
    link: ['removed_event_at', 'first_seen_at', 'seen_at', 'contracts_read_at'],
    link_reset: ['reset_at', 'next_attempt_at'],
    mailed: ['mailed_at'],
    membership: ['next_attempt_at', 'updated_at', 'missed_at'],
    membership_address: ['given_at', 'ended_at'],
    notice: ['occurred_at'],
    participation: ['seen_at'],
    plan: ['created_at', 'decided_at'],
    read_request: ['wanted_at', 'next_attempt_at'],
    receipt: ['created_at'],
    removal: ['cleared_at'],
    run: ['began_at', 'read_at', 'ended_at'],
    subscription: ['next_check_at', 'checked_at', 'creating_since', 'unmatched_at'],
    tool_trouble: ['since', 'asks_again_at'],
    usage_day: ['seen_at'],
    usage_decision: ['decided_at'],
    usage_import: ['counted_at', 'undone_at'],
    usage_ledger: ['sent_at', 'answered_at', 'closed_at', 'lowering_held_at', 'lowered_at'],
    usage_person: ['fallen_since'],
    usage_place: [
      'next_read_at',
      'read_began_at',
      'complete_began_at',
      'refused_at',
      'failing_since',
      'gone_since',
      'told_at',
      'gap_since',
    ],
    usage_trouble: ['seen_at', 'told_at'],
    webhook_endpoint: ['stored_at'],
  },
  lease: {
    budget_reader: ['leased_until'],
    // Also when to try again: at most an hour, which the lease of whoever is at it must survive.
    dispatch: ['next_attempt_at'],
    install_state: ['leased_until'],
    // Until when a call may arrive: it ends as the lease does.
    membership: ['leased_until', 'late_until'],
    named_lock: ['leased_until'],
    read_request: ['leased_until'],
    subscription: ['leased_until'],
    usage_import: ['kept_until'],
    usage_ledger: ['doubted_until'],
    usage_place: ['leased_until'],
  },
  grace: { left_project: ['due_at'], membership: ['remove_after'] },
  version: {
    contract: ['title_version', 'start_date_version', 'end_date_version'],
    link: ['provisioning_mode_version'],
    person: ['display_name_version', 'work_email_version'],
  },
  absences: {
    contract_link: ['omissions'],
    link: ['absences'],
    participation: ['absences'],
  },
  left: {
    account: ['made_at'],
    budget: ['last_usage_at'],
    contract: ['start_date', 'end_date'],
    // A mail is known by when its invitation was made.
    invitation: ['created_at', 'expires_at'],
    mailed: ['invited_at'],
    // A list: those of the last day count.
    subscription: ['enabled_at'],
    usage_ledger: ['lowered_from'],
  },
};
