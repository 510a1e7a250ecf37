/** The first tables. */
export const initial = `
create table setting (
  name TEXT not null,
  value TEXT not null,
  primary key (name)
);

create table named_lock (
  name TEXT not null,
  token TEXT not null,
  leased_until TEXT not null,
  primary key (name)
);

create table instance (
  id TEXT not null,
  name TEXT not null,
  version TEXT not null,
  started_at TEXT not null,
  beat_at TEXT not null,
  stopped_at TEXT,
  primary key (id)
);

create table audit (
  id COUNTER,
  at TEXT not null,
  actor TEXT not null,
  action TEXT not null,
  subject TEXT not null,
  origin TEXT default 'command line' not null,
  before TEXT,
  after TEXT
);
create index audit_by_subject on audit (subject);

create table kept_answer (
  id COUNTER,
  key_digest TEXT not null unique,
  request_digest TEXT not null,
  answer BYTES,
  begun_at TEXT not null
);
create index kept_answer_begun on kept_answer (begun_at);

create table job (
  kind TEXT not null,
  key TEXT not null,
  install TEXT not null,
  due_at TEXT not null,
  asks INTEGER default 0 not null,
  lease_token TEXT,
  leased_until TEXT,
  attempts INTEGER default 0 not null,
  failure TEXT,
  failure_code TEXT,
  failing_since TEXT,
  holds_others INTEGER default 0 not null,
  primary key (kind, key)
);
create index job_due on job (due_at);
create index job_by_install on job (kind, install, due_at);
create index job_running on job (kind, install)
  where leased_until is not null;
create index job_failing on job (kind, install)
  where failing_since is not null;

create table connected_install (
  install TEXT not null,
  source TEXT default 'platform' not null,
  token BYTES not null,
  tool TEXT not null,
  projects TEXT not null,
  grant_id TEXT not null,
  organization_id TEXT,
  connected_at TEXT not null,
  primary key (install)
);

create table webhook_endpoint (
  install TEXT not null,
  endpoint_id TEXT not null,
  secret BYTES,
  stored_at TEXT not null,
  primary key (install, endpoint_id)
);

create table subscription (
  install TEXT not null,
  checked_at TEXT,
  trouble TEXT,
  creating_since TEXT,
  unmatched_at TEXT,
  enabled_at TEXT default '[]' not null,
  primary key (install)
);

create table install_state (
  install TEXT not null,
  held_since TEXT,
  removals_held_since TEXT,
  read_wanted_by TEXT,
  read_began_at TEXT,
  active_listed_at TEXT,
  primary key (install)
);

create table job_link (
  install TEXT not null,
  link_id TEXT not null,
  job_id TEXT not null,
  external_project_id TEXT not null,
  primary key (install, link_id),
  unique (install, job_id, external_project_id)
);

create table feed (
  install TEXT not null,
  grant_id TEXT not null,
  cursor TEXT,
  read_at TEXT,
  primary key (install, grant_id)
);

create table run (
  id COUNTER,
  install TEXT not null,
  trigger TEXT not null,
  began_at TEXT not null,
  after_receipt BIGINT not null,
  read_at TEXT,
  ended_at TEXT,
  outcome TEXT,
  contracts INTEGER default 0 not null,
  added INTEGER default 0 not null,
  removed INTEGER default 0 not null,
  held INTEGER default 0 not null,
  failed INTEGER default 0 not null,
  failure TEXT
);
create index run_by_install on run (install, began_at);
create index run_open on run (install)
  where ended_at is null;

create table replaced_token (
  digest TEXT not null,
  token BYTES not null,
  token_id TEXT not null,
  replaced_id TEXT not null,
  primary key (digest)
);

create table budget (
  install TEXT not null,
  contract_id TEXT not null,
  funded_volume DOUBLE PRECISION,
  funded_amount_usd DOUBLE PRECISION,
  consumed_volume DOUBLE PRECISION,
  remaining_volume DOUBLE PRECISION,
  consumed_fraction DOUBLE PRECISION,
  state TEXT,
  state_since TEXT,
  payment_type TEXT,
  consumed_seconds DOUBLE PRECISION,
  consumed_labels DOUBLE PRECISION,
  consumed_tasks DOUBLE PRECISION,
  last_usage_at TEXT,
  asked_at TEXT,
  is_watched INTEGER default 0 not null,
  met_event_at TEXT,
  not_found_at TEXT,
  notified_state TEXT,
  notified_at TEXT,
  notified_funded_volume DOUBLE PRECISION,
  primary key (install, contract_id)
);
create index budget_by_state on budget (install, state)
  where is_watched = 1;
create index budget_unknown on budget (install)
  where not_found_at is not null;

create table pending_payment (
  install TEXT not null,
  payment_id TEXT not null,
  job_id TEXT,
  amount_usd DOUBLE PRECISION,
  url TEXT not null,
  first_seen_at TEXT not null,
  seen_at TEXT not null,
  absences TEXT,
  primary key (install, payment_id)
);

create table delivery (
  id COUNTER,
  install TEXT not null,
  body_sha256 BYTES not null,
  delivery_id TEXT,
  event_type TEXT,
  subject_id TEXT,
  received_at TEXT not null,
  state TEXT not null,
  attempts INTEGER default 0 not null,
  next_attempt_at TEXT,
  failure TEXT,
  reader_version INTEGER not null,
  headers TEXT not null,
  body BYTES not null,
  unique (install, body_sha256)
);
create index delivery_turn on delivery (install, id, next_attempt_at)
  where next_attempt_at is not null;
create index delivery_trouble on delivery (id)
  where failure is not null;
create index delivery_subject on delivery (subject_id, id)
  where subject_id is not null;
create index delivery_by_install on delivery (install, id);
create index delivery_by_type on delivery (event_type, id);
create index delivery_ignored on delivery (install, id)
  where state = 'ignored';
create index delivery_troubled on delivery (state, id)
  where failure is not null;

create table install_storage (
  install TEXT not null,
  part INTEGER not null,
  bytes BIGINT not null,
  primary key (install, part)
);

create table contract (
  install TEXT not null,
  contract_id TEXT not null,
  started_event_at TEXT,
  ended_event_at TEXT,
  active_read_at TEXT,
  ended_read_at TEXT,
  ended_by_operator_at TEXT,
  reopened_at TEXT,
  participants_read_at TEXT,
  budget_event_at TEXT,
  title TEXT,
  title_version TEXT,
  start_date TEXT,
  start_date_version TEXT,
  end_date TEXT,
  end_date_version TEXT,
  primary key (install, contract_id)
);
create index contract_contradicted on contract (install, contract_id)
  where ended_event_at is not null and ended_read_at is null;
-- Alerts look for disputed contracts four times a minute, and there are few.
create index contract_disputed on contract (install, contract_id)
  where ended_read_at is null and (active_read_at > ended_event_at or active_read_at > ended_by_operator_at);

create table link (
  install TEXT not null,
  link_id TEXT not null,
  removed_event_at TEXT,
  first_seen_at TEXT,
  seen_at TEXT,
  absences TEXT,
  contracts_read_at TEXT,
  external_project_id TEXT,
  external_project_name TEXT,
  external_project_url TEXT,
  provisioning_mode TEXT,
  provisioning_mode_version TEXT,
  job_id TEXT,
  primary key (install, link_id)
);
create index link_by_project on link (install, external_project_id);

create table install_grant (
  install TEXT not null,
  grant_id TEXT not null,
  revoked_event_at TEXT,
  revoked_received_at TEXT,
  first_active_read_at TEXT,
  active_read_at TEXT,
  primary key (install, grant_id)
);

create table contract_link (
  install TEXT not null,
  contract_id TEXT not null,
  link_id TEXT not null,
  named_at TEXT,
  omissions TEXT,
  primary key (install, contract_id, link_id)
);
create index contract_link_by_link on contract_link (install, link_id);

create table participation (
  install TEXT not null,
  contract_id TEXT not null,
  trainer_id TEXT not null,
  seen_at TEXT not null,
  absences TEXT,
  primary key (install, contract_id, trainer_id)
);
create index participation_of_trainer on participation (trainer_id, install);

create table person (
  install TEXT not null,
  trainer_id TEXT not null,
  display_name TEXT,
  display_name_version TEXT,
  work_email_version TEXT,
  address_missing TEXT,
  address_missing_version TEXT,
  work_email BYTES,
  work_email_digest TEXT,
  work_email_domain TEXT,
  primary key (install, trainer_id)
);
create index person_by_trainer on person (trainer_id);
create index person_by_address on person (work_email_digest)
  where work_email_digest is not null;

create table contract_end (
  install TEXT not null,
  contract_id TEXT not null,
  seen_at TEXT not null,
  primary key (install, contract_id)
);

create table forgotten_person (
  install TEXT not null,
  trainer_id TEXT not null,
  forgotten_at TEXT not null,
  primary key (trainer_id, install)
);

create table read_request (
  install TEXT not null,
  contract_id TEXT not null,
  wanted_at TEXT not null,
  attempts INTEGER default 0 not null,
  next_attempt_at TEXT not null,
  primary key (install, contract_id)
);
create index read_request_turn on read_request (install, next_attempt_at);
create index read_request_wanted on read_request (install, wanted_at);

create table derivation (
  arrival COUNTER,
  install TEXT default '' not null,
  trainer_id TEXT not null,
  evidence_at TEXT default '' not null,
  unique (trainer_id, install)
);
create index derivation_turn on derivation (install, arrival);

create table membership (
  id COUNTER,
  late_until TEXT,
  missed_at TEXT,
  tool TEXT not null,
  group_id TEXT not null,
  trainer_id TEXT not null,
  wanted INTEGER not null,
  generation INTEGER not null,
  state TEXT not null,
  member_id TEXT,
  doubted_id TEXT,
  is_ours INTEGER not null,
  released_by TEXT,
  attempts INTEGER not null,
  next_attempt_at TEXT,
  lease_token TEXT,
  leased_until TEXT,
  look_again INTEGER default 0 not null,
  failure TEXT,
  updated_at TEXT not null,
  install TEXT default '' not null,
  cause TEXT,
  remove_after TEXT,
  unmet_since TEXT,
  cleared_generation INTEGER
);
create index membership_by_seat on membership (trainer_id, tool, group_id);
create index membership_by_group on membership (tool, group_id);
create index membership_by_install on membership (install, state);
create index membership_by_account on membership (tool, member_id)
  where member_id is not null;
create index membership_due on membership (tool, install, next_attempt_at)
  where next_attempt_at is not null;
create index membership_to_remove on membership (install, remove_after)
  where remove_after is not null;
create index membership_orphaned on membership (id)
  where state = 'orphaned';
create index membership_unconfirmed on membership (install)
  where late_until is not null or missed_at is not null;
create index membership_unmet on membership (wanted, state, unmet_since)
  where unmet_since is not null;
create index membership_by_state on membership (state, tool, group_id, trainer_id, id);
create index membership_leaving on membership
  ((case state when 'held' then 'held' else coalesce(remove_after, '') end), id)
  where state || '' in ('removing', 'held');
create index membership_undecided on membership (state, wanted)
  where is_ours = 0 and released_by is null and state in ('active', 'invited', 'released');

create table reason (
  membership_id BIGINT not null references membership (id),
  install TEXT not null,
  contract_id TEXT not null,
  link_id TEXT not null,
  recorded_at TEXT not null,
  is_named INTEGER default 1 not null,
  primary key (membership_id, install, contract_id, link_id)
);
create index reason_of_contract on reason (install, contract_id);

create table membership_address (
  id COUNTER,
  membership_id BIGINT not null references membership (id),
  install TEXT not null,
  trainer_id TEXT not null,
  work_email BYTES not null,
  work_email_digest TEXT not null,
  work_email_domain TEXT,
  is_current INTEGER not null,
  given_at TEXT,
  ended_at TEXT,
  was_absent INTEGER
);
create index membership_address_by_membership on membership_address (membership_id);
create index membership_address_by_digest on membership_address (work_email_digest);

create table account (
  tool TEXT not null,
  account_id TEXT not null,
  is_ours INTEGER not null,
  seen_at TEXT not null,
  trainer_id TEXT,
  made_at TEXT,
  primary key (tool, account_id)
);

create table left_project (
  membership_id BIGINT not null,
  project TEXT not null,
  due_at TEXT not null,
  ended_at TEXT,
  primary key (membership_id, project)
);

create table plan (
  id COUNTER,
  install TEXT not null,
  state TEXT not null,
  created_at TEXT not null,
  decided_at TEXT
);
create index plan_by_install on plan (install, state);
create index plan_open on plan (created_at)
  where state = 'open';

create table plan_item (
  plan_id BIGINT not null references plan (id),
  membership_id BIGINT not null references membership (id),
  generation INTEGER not null,
  cause TEXT not null,
  outcome TEXT,
  primary key (plan_id, membership_id)
);

create table removal (
  id COUNTER,
  install TEXT not null,
  membership_id BIGINT not null references membership (id),
  generation INTEGER not null,
  cause TEXT not null,
  clearance TEXT not null,
  cleared_at TEXT not null
);
create index removal_by_install on removal (install, cleared_at);

create table removal_total (
  install TEXT not null,
  removed BIGINT not null,
  primary key (install)
);

create table awaited_reading (
  membership_id BIGINT not null,
  generation INTEGER not null,
  is_explicit INTEGER not null,
  installs_since TEXT,
  work_since TEXT,
  lists_since TEXT,
  reported_at TEXT,
  report_after TEXT,
  primary key (membership_id)
);
create index awaited_reading_unreported on awaited_reading (work_since)
  where work_since is not null and reported_at is null;

create table awaited_scope (
  membership_id BIGINT not null,
  tool TEXT not null,
  scope TEXT not null,
  primary key (membership_id, tool, scope)
);

create table install_binding (
  install TEXT not null,
  grant_id TEXT not null,
  organization_id TEXT,
  app_id TEXT,
  primary key (install)
);

create table tool_binding (
  tool TEXT not null,
  identity TEXT,
  location TEXT,
  primary key (tool)
);

create table tool_trouble (
  tool TEXT not null,
  error_code TEXT not null,
  message TEXT not null,
  since TEXT not null,
  asks_again_at TEXT not null,
  primary key (tool)
);

create table intent (
  id COUNTER,
  membership_id BIGINT not null references membership (id),
  generation INTEGER not null,
  operation TEXT not null,
  was_found INTEGER not null,
  created_at TEXT not null,
  credential BYTES
);
create index intent_by_membership on intent (membership_id);

create table receipt (
  id COUNTER,
  membership_id BIGINT not null references membership (id),
  generation INTEGER not null,
  operation TEXT not null,
  outcome TEXT not null,
  tool_status INTEGER,
  message TEXT,
  created_at TEXT not null,
  met_after_ms BIGINT
);
create index receipt_by_membership on receipt (membership_id);
create index receipt_met on receipt (id)
  where met_after_ms is not null;

create table invitation (
  membership_id BIGINT not null,
  kind TEXT not null,
  content BYTES,
  created_at TEXT not null,
  expires_at TEXT,
  delivered_at TEXT,
  delivered_by TEXT,
  is_renewal_wanted INTEGER default 0 not null,
  attempts INTEGER default 0 not null,
  next_attempt_at TEXT,
  failure TEXT,
  primary key (membership_id)
);
create index invitation_due on invitation (next_attempt_at);
create index invitation_undelivered on invitation (created_at)
  where delivered_at is null;

create table mailed (
  membership_id BIGINT not null,
  invited_at TEXT not null,
  install TEXT not null,
  address_digest TEXT not null,
  mailed_at TEXT not null,
  primary key (membership_id, invited_at)
);
create index mailed_to on mailed (install, address_digest, mailed_at);

create table link_reset (
  tool TEXT not null,
  group_id TEXT not null,
  requests INTEGER not null,
  reset_at TEXT,
  next_attempt_at TEXT,
  attempts INTEGER default 0 not null,
  primary key (tool, group_id)
);

create table drift_listing (
  tool TEXT not null,
  group_id TEXT not null,
  install TEXT not null,
  listed_at TEXT not null,
  listed INTEGER not null,
  unkept INTEGER not null,
  primary key (tool, group_id)
);

create table drift_finding (
  id TEXT not null,
  tool TEXT not null,
  group_id TEXT not null,
  kind TEXT not null,
  membership_id BIGINT,
  since TEXT not null,
  content BYTES,
  address_digest TEXT,
  primary key (id)
);
create index drift_finding_of_group on drift_finding (tool, group_id, kind, id);
create index drift_finding_address on drift_finding (address_digest);

create table usage_scope (
  tool TEXT not null,
  scope TEXT not null,
  failure TEXT,
  refused_at TEXT,
  read_began_at TEXT,
  complete_began_at TEXT,
  failing_since TEXT,
  gone_since TEXT,
  gap TEXT,
  gap_since TEXT,
  primary key (tool, scope)
);

create table usage_scope_group (
  tool TEXT not null,
  group_id TEXT not null,
  scope TEXT not null,
  primary key (tool, group_id, scope)
);

create table usage_person (
  tool TEXT not null,
  scope TEXT not null,
  member_id TEXT not null,
  trainer_id TEXT not null,
  generation INTEGER not null,
  totals TEXT,
  fallen_since TEXT,
  primary key (tool, scope, member_id)
);
create index usage_person_by_trainer on usage_person (trainer_id);

create table usage_item (
  tool TEXT not null,
  scope TEXT not null,
  member_id TEXT not null,
  item_id TEXT not null,
  task_id TEXT not null,
  is_done INTEGER not null,
  done_day TEXT not null,
  done_at TEXT not null,
  last_day TEXT not null,
  labels BIGINT,
  seconds BIGINT,
  grown TEXT not null,
  primary key (tool, scope, member_id, item_id)
);
create index usage_item_by_day on usage_item (tool, scope, member_id, last_day);

create table usage_day (
  tool TEXT not null,
  scope TEXT not null,
  member_id TEXT not null,
  day TEXT not null,
  seconds BIGINT,
  tasks BIGINT,
  labels BIGINT,
  trainer_id TEXT not null,
  is_frozen INTEGER default 0 not null,
  is_torn INTEGER default 0 not null,
  seen_at TEXT not null,
  primary key (tool, scope, member_id, day)
);
create index usage_day_by_day on usage_day (day);
create index usage_day_by_trainer on usage_day (trainer_id, day);

create table usage_ledger (
  install TEXT not null,
  contract_id TEXT not null,
  trainer_id TEXT not null,
  day TEXT not null,
  seconds BIGINT,
  tasks BIGINT,
  labels BIGINT,
  tried_seconds BIGINT,
  tried_tasks BIGINT,
  tried_labels BIGINT,
  state TEXT not null,
  doubted_until TEXT,
  lowering_held_at TEXT,
  lowered_at TEXT,
  lowered_from TEXT,
  sent_at TEXT not null,
  answered_at TEXT,
  closed_at TEXT,
  report_id TEXT not null,
  request_id TEXT,
  status INTEGER,
  message TEXT,
  primary key (install, contract_id, trainer_id, day)
);
create index usage_ledger_by_day on usage_ledger (install, day);
create index usage_ledger_lowering_held on usage_ledger (install, day)
  where lowering_held_at is not null;
create index usage_ledger_lowered on usage_ledger (install, lowered_at)
  where lowered_at is not null;
create index usage_ledger_refused on usage_ledger (install, day)
  where state = 'refused';
create index usage_ledger_by_report on usage_ledger (report_id);

create table usage_due (
  install TEXT not null,
  contract_id TEXT not null,
  trainer_id TEXT not null,
  day TEXT not null,
  seconds BIGINT,
  tasks BIGINT,
  labels BIGINT,
  time_zone TEXT not null,
  is_partial INTEGER not null,
  is_open INTEGER not null,
  primary key (install, contract_id, trainer_id, day)
);
create index usage_due_by_trainer on usage_due (trainer_id, day);
create index usage_due_by_day on usage_due (install, day);
create index usage_due_open on usage_due (install, contract_id, trainer_id, day)
  where is_open = 1;
create index usage_due_open_by_day on usage_due (day, install)
  where is_open = 1;

create table usage_held (
  id TEXT not null,
  work TEXT not null,
  install TEXT not null,
  trainer_id TEXT not null,
  day TEXT not null,
  source TEXT not null,
  worked_on TEXT not null,
  seconds BIGINT,
  tasks BIGINT,
  labels BIGINT,
  reason TEXT not null,
  contracts TEXT not null,
  state TEXT not null,
  since TEXT not null,
  primary key (id)
);
create index usage_held_by_trainer on usage_held (trainer_id, day);
create index usage_held_held on usage_held (install, day)
  where state = 'held';

create table usage_stale (
  trainer_id TEXT not null,
  from_day TEXT not null,
  reopens INTEGER not null,
  primary key (trainer_id)
);

create table usage_decision (
  id COUNTER,
  work TEXT not null unique,
  trainer_id TEXT not null,
  install TEXT,
  contract_id TEXT,
  reason TEXT not null,
  decided_at TEXT not null
);
create index usage_decision_by_trainer on usage_decision (trainer_id);

create table usage_import (
  id COUNTER,
  install TEXT not null,
  state TEXT not null,
  file_name TEXT not null,
  actor TEXT not null,
  kept_until TEXT not null,
  counted_at TEXT,
  undone_at TEXT,
  lines INTEGER default 0 not null,
  people INTEGER,
  first_day TEXT,
  last_day TEXT
);

create table usage_import_entry (
  import_id BIGINT not null references usage_import (id),
  line BIGINT not null,
  day TEXT not null,
  worked_on_by TEXT not null,
  worked_on_id TEXT not null,
  trainer_id TEXT not null,
  seconds BIGINT,
  tasks BIGINT,
  labels BIGINT,
  primary key (import_id, line)
) without rowid;
create unique index usage_import_entry_by_day on usage_import_entry
  (day, worked_on_by, worked_on_id, trainer_id, import_id);
create index usage_import_entry_by_trainer on usage_import_entry (trainer_id, day);

create table notice (
  id COUNTER,
  kind TEXT not null,
  install TEXT not null,
  contract_id TEXT not null,
  occurred_at TEXT not null,
  is_repeat INTEGER not null,
  budget TEXT not null,
  alert TEXT
);

create table dispatch (
  id COUNTER,
  notice_id BIGINT not null references notice (id),
  channel TEXT not null,
  state TEXT default 'waiting' not null,
  message_id TEXT,
  attempts INTEGER default 0 not null,
  next_attempt_at TEXT,
  lease_token TEXT,
  failure TEXT,
  created_at TEXT not null,
  settled_at TEXT
);
create index dispatch_due on dispatch (channel, next_attempt_at);
create index dispatch_settled on dispatch (settled_at);
create index dispatch_of_notice on dispatch (notice_id);
create index dispatch_of_lease on dispatch (lease_token);

create table alert (
  id COUNTER,
  kind TEXT not null,
  digest TEXT not null,
  scope TEXT not null,
  subject TEXT not null,
  about TEXT not null,
  message TEXT not null,
  raised_at TEXT not null,
  seen_at TEXT not null,
  is_announced INTEGER default 0 not null,
  count INTEGER,
  announced_at TEXT,
  over_at TEXT
);
create unique index alert_digest on alert (digest);
create index alert_standing on alert (kind, id)
  where over_at is null;
create index alert_over on alert (over_at)
  where over_at is not null;

create table guideline (
  tool TEXT not null,
  project TEXT not null,
  install TEXT not null,
  manual_id TEXT,
  publication_number INTEGER,
  sent_digest TEXT,
  words_digest TEXT,
  before_digest TEXT,
  held_digest TEXT,
  written_at TEXT,
  looked_at TEXT not null,
  state TEXT not null,
  since TEXT not null,
  says TEXT,
  failures INTEGER not null,
  primary key (tool, project)
);
`;
