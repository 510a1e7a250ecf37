import type { AlertKind } from '../lib/alerts.ts';

/** What to do about an alert, in one line of its notice. `docs/alerts.md` says more. */
const advice: Readonly<Record<AlertKind, string>> = {
  removals_held: 'look at the plan with "gangway plans show", then approve or reject it',
  contract_disputed: 'nothing if the contract goes on, else: gangway contracts end <contract>',
  link_outside: 'name the project in installs.<name>.projects, or have the customer remove the link',
  tool_left_alone: 'bring the tool back, or replace its token',
  absence_unproven: "remove the trainer's account in the tool, and protect the others",
  marketplace_refuses: 'gangway connect <install> with a new token',
  job_unread: 'see that the job belongs to your account, or: gangway links remove',
  feed_unread: 'gangway doctor says what is refused; what is read on schedule goes on',
  token_expires: 'gangway token rotate <install>',
  other_customer: 'put the right token back, or: gangway connect <install> --accept-other-customer',
  other_server: 'put the right address back, or: gangway tools accept <tool>',
  managed_address_leaked: 'remove the member in the tool, and find out who added them',
  removed_member_returned: 'find out what adds them again, and stop it',
  member_keeps_vanishing: 'find out what removes them, and stop it, or end the contract',
  address_changed: 'nothing where Gangway may change accounts, else change the address in the tool',
  id_of_another: 'find out whose account it is, then: gangway members adopt, or gangway members release --doubted',
  address_disagreement: 'mostly nothing; if one address is wrong, that customer corrects it',
  contract_suspect: 'if it has ended: gangway contracts end <contract>',
  evidence_held: 'ask the customer whether that is meant',
  clock_drift: 'set the clock of the machine',
  clock_set_back: 'see that the clock stays right',
  invitation_refused: 'hand it over yourself: gangway members invitation <membership>',
  endpoint_disabled: 'find out why deliveries failed: a restart, a proxy, a certificate',
  endpoint_trouble: 'gangway endpoint status <install> says what helps',
  usage_unread: 'give the token of the tool access to the project, or have the link removed',
  usage_held: 'gangway usage held, then assign or discard; or: gangway usage report --accept-lowered',
  usage_miscounted: 'gangway usage check: what was sent by the wrong counts is corrected by the next report',
  usage_refused: 'look at gangway usage show <contract>, and correct what it names',
  guideline_unwritten: 'gangway guidelines diff says what is where, then: gangway guidelines sync --overwrite',
  budget_low: 'have the customer fund the next milestone',
  budget_depleted: 'have the customer fund the next milestone, or end the contract',
  payment_waiting: 'see to it at its address, or at the marketplace',
  notification_failed: 'correct the channel in the configuration',
  storage_used_up: 'find out why so much comes, or raise receiver.limits.storedBytes',
  disk_short: 'make room on the disk of the database',
  database_lost: 'stop Gangway, put a backup in place, then: gangway start --restored',
};

/**
 * Null where there is nothing to do.
 *
 * @param kind of a notice; a newer version may have stored one that is not known
 */
export function adviceOf(kind: string): string | null {
  const name = kind.replace('alert.', '').replace('budget.', 'budget_');
  return Object.hasOwn(advice, name) ? advice[name as AlertKind] : null;
}
