import { dayMs, hourMs } from './clock.ts';

/** The worst first: something does not work; waits for a decision; waits for somebody to act; is worth knowing. */
export const severities = ['down', 'held', 'waiting', 'notice'] as const;
export type Severity = (typeof severities)[number];

/** Names in angle brackets are filled in, and the count chooses from `(one|several)`. Commands are in backticks. */
export interface TroubleRule {
  severity: Severity;
  means: string;
  says: string;
  action: string;
  page?: string;
  /** Left out if it is only listed, without a notice. */
  notice?: NoticeRule;
}

/** How notices announce a trouble and its end. */
export interface NoticeRule {
  /** How long after its beginning it is announced. */
  afterMs?: number;
  /** How long after its end it is not announced again, because it may come back within minutes. */
  quietMs?: number;
  /** Whether notices of another kind announce it and its end. */
  isNoticedElsewhere?: boolean;
}

/** Troubles that no query finds. The code that meets one raises it as an alert, and says when it is over. */
export const raisedTroubleRules = {
  absence_unproven: {
    severity: 'down',
    means:
      'A trainer must be out, and nothing proves that they are: the tool shows accounts without saying whose they are, or does not show who is in the group.',
    says: 'A trainer who must be out may still be in “<tool>”.',
    action: "Remove the trainer's account in the tool, and list the others under protected",
    page: '/access?tool=<tool>',
    notice: {},
  },
  job_unread: {
    severity: 'waiting',
    means:
      'The marketplace refuses the contracts of a job of your own account, or does not know it. Nobody new gets in by it, and nobody is removed.',
    says: 'Gangway cannot read the contracts of job <job> of <install>, so nobody new gets in by it.',
    action: 'Check that the job belongs to your account, or remove its link with `gangway links remove`',
    page: '/installs/<install>',
    notice: {},
  },
  token_expires: {
    severity: 'waiting',
    means: 'The token of your own account expires within seven days, or has less than a third of its life left.',
    says: 'The token of <install> expires soon.',
    action: 'Run `gangway token rotate <install>`, with `--keep` for each scope that you hire with',
    page: '/installs/<install>',
    notice: {},
  },
  other_server: {
    severity: 'down',
    means: 'Another server answers at the address of a tool. Gangway adds and removes nobody in it.',
    says: 'Tool “<tool>” is another server than the one that its members are in.',
    action: 'Put the right address back, or run `gangway tools accept <tool>`',
    notice: { quietMs: hourMs },
  },
  managed_address_leaked: {
    severity: 'waiting',
    means: 'An account with an email at a managed domain is in a group, and no active contract is a reason for it.',
    says: 'An account with a managed email is in a group of “<tool>” without an active contract.',
    action: 'Remove the member in the tool, and find out who added them',
    page: '/access?tool=<tool>',
    notice: {},
  },
  removed_member_returned: {
    severity: 'waiting',
    means: 'A removed member is in the group again, and Gangway did not add them. It removes them again.',
    says: 'A removed member is back in “<tool>”. Gangway removes them again, unless a contract starts.',
    action: 'Find out what adds them again, and stop it',
    page: '/access?tool=<tool>',
    notice: {},
  },
  member_keeps_vanishing: {
    severity: 'waiting',
    means: 'Something outside Gangway keeps removing a trainer with an active contract.',
    says: 'Something outside Gangway keeps removing a member from “<tool>”. Gangway adds them back once an hour.',
    action: 'Find out what removes them, and stop it, or end the contract',
    page: '/access?tool=<tool>',
    notice: {},
  },
  address_changed: {
    severity: 'notice',
    means: 'The work email of a trainer has changed, and the tool still has the old one.',
    says: 'The email of a member in “<tool>” is not their work email.',
    action: 'Nothing where Gangway may change accounts. Otherwise change the email in the tool',
    page: '/access?tool=<tool>',
    notice: {},
  },
  id_of_another: {
    severity: 'waiting',
    means: "The id of a trainer's account now shows another email. Gangway leaves the account alone.",
    says: "A trainer's account in “<tool>” may be another person's. Gangway leaves it alone.",
    action: 'Find out whose account it is, then run `gangway members adopt`, or `gangway members release --doubted`',
    page: '/access?tool=<tool>',
    notice: {},
  },
  address_disagreement: {
    severity: 'notice',
    means: 'Two customers have different emails for one trainer in one tool, so each email has its own access.',
    says: 'Customers have different emails for one trainer in “<tool>”, so each email has its own access.',
    action: 'Usually nothing. If one email is wrong, that customer corrects it',
    page: '/access?tool=<tool>',
    notice: {},
  },
  evidence_held: {
    severity: 'waiting',
    means:
      'A customer sends more than Gangway accepts, in total or about one contract or trainer. The rest is held, and nobody is removed.',
    says: '<install> sends more than Gangway accepts. Gangway holds the rest.',
    action: 'Ask the customer whether that is intended',
    page: '/installs/<install>',
    notice: {},
  },
  clock_drift: {
    severity: 'waiting',
    means: 'The clock of a machine differs from that of the marketplace. Webhooks are refused beyond 300 s.',
    says: 'The clock of <machine> differs from that of the marketplace. Webhooks are refused beyond 300 s.',
    action: 'Set the clock of the machine, and keep it right by NTP',
    page: '/doctor',
    notice: { quietMs: hourMs },
  },
  clock_set_back: {
    severity: 'notice',
    means: 'The clock was ahead and has been set back. Gangway cut stored times of the future back to now.',
    says: 'The clock was ahead and was set back. Gangway reads every install before it acts on anything older.',
    action: 'Check that the clock stays right',
    notice: { quietMs: hourMs },
  },
  endpoint_disabled: {
    severity: 'notice',
    means: 'The marketplace disabled a webhook endpoint, because deliveries failed. Gangway enabled or replaced it.',
    says: 'The marketplace disabled a webhook endpoint of <install>.',
    action: 'Find out why webhooks failed: a restart, a proxy, a certificate',
    page: '/installs/<install>',
    notice: { quietMs: hourMs },
  },
  usage_miscounted: {
    severity: 'notice',
    means: 'Stored work did not match the readings. Gangway corrected it.',
    says: 'Stored work did not match the readings. Gangway corrected it.',
    action: 'Run `gangway usage check`. The next report corrects what was sent',
    page: '/work',
    notice: { quietMs: hourMs },
  },
  notification_failed: {
    severity: 'notice',
    means: 'A channel did not accept a notice for three days, or its receiver is gone.',
    says: 'Gangway gave up on a notice to channel “<channel>”.',
    action: 'Correct the channel in the configuration',
    page: '/notifications?state=failed',
    // Two channels that fail must not go on reporting each other.
    notice: { quietMs: dayMs },
  },
  storage_used_up: {
    severity: 'down',
    means: 'A customer has stored as much as receiver.limits.storedBytes allows. Its webhooks are refused.',
    says: 'Webhooks of <install> are not stored: it has used what it may store.',
    action: 'Find out why so much comes, or raise receiver.limits.storedBytes',
    page: '/installs/<install>',
    notice: { quietMs: hourMs },
  },
  disk_short: {
    severity: 'down',
    means: 'The disk is nearly full, and a customer has used its share of the rest. Its webhooks are refused.',
    says: 'Webhooks of <install> are not stored: the disk is nearly full.',
    action: 'Make room on the disk of the database',
    page: '/installs/<install>',
    notice: { quietMs: hourMs },
  },
  disk_low: {
    severity: 'waiting',
    means: 'Less than 10 % of the disk of the SQLite database is free, and less than 10 GiB.',
    says: 'Less than 10 % of the disk of the database is free.',
    action: 'Make room on the disk, or move the database to a larger one',
    notice: { quietMs: hourMs },
  },
  disk_full: {
    severity: 'down',
    means:
      'Less than 2 % of the disk of the SQLite database is free, and less than 1 GiB. Gangway only stores webhooks.',
    says: 'Less than 2 % of the disk of the database is free, so Gangway only stores webhooks.',
    action: 'Make room on the disk, or move the database to a larger one',
    notice: { quietMs: hourMs },
  },
  database_lost: {
    severity: 'down',
    means: 'The files of the database were deleted or replaced while they were open. Webhooks are refused.',
    says: 'The database file was deleted or replaced, so webhooks are refused.',
    action: 'Stop Gangway, move the files back or run `gangway restore`, then start it',
    notice: {},
  },
} as const satisfies Record<string, TroubleRule>;
