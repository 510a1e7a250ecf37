import type { AlertKind } from '../lib/alerts.ts';
import type { TroubleKind } from '../lib/trouble-rules.ts';
import { adviceOfTrouble, isTroubleKind } from '../lib/troubles.ts';

/** What to do about an alert that is no trouble of `gangway status`, in one line of its notice. */
const advice: Readonly<Record<Exclude<AlertKind, TroubleKind>, string>> = {
  link_outside: 'Name the project in installs.<install>.projects, or ask the customer to remove the link',
  absence_unproven: "Remove the trainer's account in the tool, and list the others under protected",
  marketplace_refuses: 'Run gangway connect <install> with a new token',
  job_unread: 'Check that the job belongs to your account, or remove its link with gangway links remove',
  feed_unread: 'Run gangway doctor to see what is refused. Scheduled readings go on',
  token_expires: 'Run gangway token rotate <install>',
  other_customer: 'Put the right token back, or run gangway connect <install> --accept-other-customer',
  other_server: 'Put the right address back, or run gangway tools accept <tool>',
  managed_address_leaked: 'Remove the member in the tool, and find out who added them',
  removed_member_returned: 'Find out what adds them again, and stop it',
  member_keeps_vanishing: 'Find out what removes them, and stop it, or end the contract',
  address_changed: 'Nothing where Gangway may change accounts. Otherwise change the address in the tool',
  id_of_another: 'Find out whose account it is, then run gangway members adopt, or gangway members release --doubted',
  address_disagreement: 'Usually nothing. If one address is wrong, that customer corrects it',
  evidence_held: 'Ask the customer whether that is intended',
  clock_set_back: 'Check that the clock stays right',
  invitation_refused: 'Send the login yourself: gangway members invitation <membership>',
  endpoint_disabled: 'Find out why webhooks failed: a restart, a proxy, a certificate',
  usage_miscounted: 'Run gangway usage check. The next report corrects what was sent',
  notification_failed: 'Correct the channel in the configuration',
  storage_used_up: 'Find out why so much comes, or raise receiver.limits.storedBytes',
  disk_short: 'Make room on the disk of the database',
  database_lost: 'Stop Gangway, restore a backup, then run gangway start --restored',
};

/**
 * Null where there is nothing to do.
 *
 * @param kind of a notice; a newer version may have stored one that is not known
 */
export function adviceOf(kind: string): string | null {
  const name = kind.replace('alert.', '').replace('budget.', 'budget_');
  if (isTroubleKind(name)) return adviceOfTrouble(name);
  return Object.hasOwn(advice, name) ? advice[name as keyof typeof advice] : null;
}
