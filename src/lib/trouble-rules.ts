/** What needs an operator, each kind once: for `status`, the console, `doctor`, notices and `docs/operating.md`. */

/** The worst first: it does not work; it waits for a decision; it waits for somebody's act; it is worth knowing. */
export const severities = ['down', 'held', 'waiting', 'notice'] as const;
export type Severity = (typeof severities)[number];

/** Names in angle brackets are filled in, and of `(one|several)` the count chooses. Commands are in backticks. */
export interface TroubleRule {
  severity: Severity;
  means: string;
  says: string;
  action: string;
  page?: string;
}

/** A kind has the name of an alert where that is about the same trouble. */
const rules = {
  nothing_runs: {
    severity: 'down',
    means: 'No instance runs: webhooks are refused, and nobody is added or removed.',
    says: 'Gangway <never>. Webhooks are refused, and nobody is added or removed.',
    action: 'Run `gangway start`. If it ended by itself, its log says why',
  },
  tool_left_alone: {
    severity: 'down',
    means: 'A tool does not answer, or refuses its token. Gangway adds and removes nobody in it until it answers.',
    says: 'Tool “<tool>” <problem>.<who>',
    action: 'Check that the tool runs, its address and its token: `gangway doctor` says what is wrong',
    page: '/access?tool=<tool>&state=pending',
  },
  members_hidden: {
    severity: 'down',
    means: 'A tool accepts additions and removals, but does not show its members, so nothing proves who is in.',
    says: 'Tool “<tool>” does not show who is in its groups. <count> membership(|s) cannot be verified.',
    action: 'Let its token read members (SCIM: "members"), and check in the tool who is in',
    page: '/access?tool=<tool>&state=pending',
  },
  install_unread: {
    severity: 'down',
    means: 'The marketplace does not let Gangway read an install. Nobody is removed because of it.',
    says: 'Gangway cannot read <install> from the marketplace.',
    action:
      'Check marketplace.baseUrl (for your own account: marketplace.employerBaseUrl) and the token: `gangway connect <install>` takes a new one. Gangway retries',
    page: '/installs/<install>',
  },
  endpoint_trouble: {
    severity: 'down',
    means: 'Webhooks of an install may not arrive, and Gangway cannot repair that. It still reads on schedule.',
    says: 'Webhooks of <install> may not arrive.',
    action: 'Run `gangway endpoint status <install>`, then the command that it names',
    page: '/installs/<install>',
  },
  removals_held: {
    severity: 'held',
    means: 'More removals are due than the brake allows. They wait in a plan, and these people still have access.',
    says: '<count> removal(|s) of <install> need(s|) your decision.',
    action: 'Run `gangway plans show <plan>`, then `gangway plans approve <plan>` or `gangway plans reject <plan>`',
    page: '/plans/<plan>',
  },
  usage_held: {
    severity: 'held',
    means: 'Work is not reported, because its contract is unknown or its counts cannot be right.',
    says: '<count> day(|s) of work<of> (is|are) held for your decision.',
    action: 'Run `gangway usage held`, then assign or discard each',
    page: '/work/held',
  },
  usage_lowering: {
    severity: 'held',
    means: 'A report would lower more reported work than it may without your consent.',
    says: '<count> day(|s) of work<of> would be reported lower than before.',
    action: 'Check with `gangway usage preview`, then run `gangway usage report --accept-lowered`',
    page: '/work/held',
  },
  usage_late: {
    severity: 'held',
    means: 'Work changed after the last report of its day.',
    says: '<count> day(|s) of work<of> changed after the last report.',
    action: 'Run `gangway usage held`, then send or dismiss each',
    page: '/work/held',
  },
  no_customer: {
    severity: 'waiting',
    means: 'There is no install, so no trainer can be hired into a tool.',
    says: 'No customer is connected.',
    action: 'Run `gangway connect <install>`',
    page: '/connect',
  },
  tool_slow: {
    severity: 'waiting',
    means: 'Trainers have been waiting for a tool for more than two minutes.',
    says: 'Tool “<tool>” is slow, or fails for some trainers.<who>',
    action: 'Run `gangway doctor`; `gangway members --tool <tool> --state pending` lists who waits',
    page: '/access?tool=<tool>&state=pending',
  },
  invitation_waiting: {
    severity: 'waiting',
    means: 'Trainers have a login, and Gangway cannot send it to them.',
    says: '<count> trainer(|s) (is|are) waiting for you to send their login.',
    action: 'Run `gangway members waiting` to see them and what to send',
    page: '/invitations',
  },
  work_email_missing: {
    severity: 'waiting',
    means: 'Trainers cannot get in, because the customer has not shared their work email.',
    says: '<count> trainer(|s) of <install> (has|have) no work email.',
    action: 'Ask the customer for consent to share it; `gangway members waiting` lists the trainers',
    page: '/access?state=waiting_email',
  },
  membership_failed: {
    severity: 'waiting',
    means: 'A tool refuses to add or remove a trainer.',
    says: 'Tool “<tool>” refuses <count> trainer(|s) of <install>.',
    action: 'Run `gangway members --state failed` to see the answer of the tool',
    page: '/access?state=failed',
  },
  membership_orphaned: {
    severity: 'waiting',
    means: 'The configuration no longer names the install, tool or project of members. They keep their access.',
    says: '<count> member(|s) of <install> in “<tool>” (is|are) no longer covered by the configuration.',
    action: 'Put the name back, or run `gangway retire --all` to see whom you would retire',
    page: '/access?state=orphaned',
  },
  members_undecided: {
    severity: 'waiting',
    means: 'Members were in before Gangway could add them, so they stay when their contract ends.',
    says: '<count> member(|s) (was|were) in before Gangway could add them.',
    action: 'Run `gangway members --undecided`, then `gangway members adopt` (remove at the end) or `release` (keep)',
  },
  members_left_in: {
    severity: 'waiting',
    means: 'Members whose contract has ended are still in, because Gangway did not add them.',
    says: '<count> member(|s) still (has|have) access after their contract ended.',
    action: 'Run `gangway members --undecided`, then `gangway members adopt` (remove) or `release` (keep)',
    page: '/access?state=released',
  },
  contract_disputed: {
    severity: 'waiting',
    means: 'A contract was reported as ended, but the marketplace lists it as active. Its people keep their access.',
    says: '<count> ended contract(|s) (is|are) listed as active.',
    action:
      'If it goes on, run `gangway contracts reopen <contract>`. If it is over, run `gangway contracts end <contract>`',
    page: '/contracts?status=disputed',
  },
  contract_suspect: {
    severity: 'waiting',
    means: 'A contract is no longer listed, and nothing says that it ended. Its people keep their access.',
    says: '<count><more> contract(|s) (is|are) no longer listed, but not reported as ended.',
    action: 'Run `gangway contracts list --suspects`, then `gangway contracts end <contract>` for each that is over',
    page: '/contracts?suspects=true',
  },
  delivery_failed: {
    severity: 'waiting',
    means: 'Gangway gave up on a webhook after several attempts.',
    says: 'Gangway gave up on <count> webhook(|s).',
    action: 'Run `gangway deliveries list --state failed`, then `gangway deliveries replay --failed`',
    page: '/deliveries?state=failed',
  },
  budget_depleted: {
    severity: 'waiting',
    means: 'The budget of a contract is used up. Its people keep their access.',
    says: '<count> contract(|s) of <install> (has|have) no budget left.',
    action: 'Ask the customer to fund the next milestone, or end the contract',
    page: '/budgets?state=depleted',
  },
  payment_waiting: {
    severity: 'waiting',
    means: 'A milestone or payout of your own account waits for you. Gangway never pays.',
    says: '<payment> of <install> wait(s|) for you.',
    action: 'Settle it at the marketplace',
  },
  usage_refused: {
    severity: 'waiting',
    means: 'The marketplace refuses reported work.',
    says: 'The marketplace refuses <count> day(|s) of work<of>.',
    action: 'Run `gangway usage check`, then `gangway usage show <contract>`, and correct what it names',
    page: '/work?install=<install>&from=<day>',
  },
  usage_unread: {
    severity: 'waiting',
    means: 'The work in a project cannot be read. Work that was reported stays.',
    says: 'No work <can> from “<tool>”: <scopes>.',
    action: 'Give the token of the tool access to the project, or remove its link: `gangway links list`',
    page: '/work',
  },
  usage_gone: {
    severity: 'waiting',
    means: 'A tool says that a linked project does not exist.',
    says: 'Tool “<tool>” has no project(|s) <scopes>.',
    action: 'Bring the project back, or remove its link: `gangway links list`',
    page: '/installs',
  },
  guideline_unwritten: {
    severity: 'waiting',
    means:
      'A project does not show the guidelines published for its job, and Gangway does not overwrite it without you.',
    says: 'Project <project> in “<tool>” does not show the published guidelines.',
    action:
      'Run `gangway guidelines diff --project <project>`, then `gangway guidelines sync --project <project> --overwrite`',
    page: '/installs/<install>',
  },
  channel_failing: {
    severity: 'waiting',
    means: 'A channel does not accept notices. Gangway retries for three days.',
    says: 'Channel “<channel>” has not accepted <count> notice(|s) yet.',
    action: 'Run `gangway notifications list --state waiting`, fix the channel, then run `gangway notifications test`',
    page: '/notifications?state=waiting',
  },
  clock_drift: {
    severity: 'waiting',
    means: 'The clock of a machine differs from that of the marketplace. Webhooks are refused beyond 300 s.',
    says: 'The clock of a running instance is <drift> that of the marketplace.',
    action: 'Set the clock of the machine, and keep it right by NTP',
    page: '/doctor',
  },
  budget_low: {
    severity: 'notice',
    means: 'The budget of a contract runs out.',
    says: '<count> contract(|s) of <install> (is|are) running out of budget.',
    action: 'Ask the customer to fund the next milestone',
    page: '/budgets?state=low',
  },
  reading_fails: {
    severity: 'notice',
    means: 'Budgets, manuals or waiting payments of an install cannot be read, although the install can.',
    says: 'The <what> of <install> cannot be read.',
    action: 'Check the scopes of the token of <install>. Gangway retries',
    page: '/installs/<install>',
  },
  delivery_unprocessable: {
    severity: 'notice',
    means: 'Gangway could not understand a webhook. A later version may.',
    says: 'Gangway could not understand <count> webhook(|s).',
    action: 'Run `gangway deliveries list --state unprocessable` to see why',
    page: '/deliveries?state=unprocessable',
  },
  usage_gap: {
    severity: 'notice',
    means: 'Some of the work in a project cannot be counted.',
    says: 'Some work in <scope> of “<tool>” cannot be counted.',
    action: 'Fix the cause in the tool. Counted work stays, and Gangway adds the rest later',
    page: '/work',
  },
  usage_fallen: {
    severity: 'notice',
    means: 'Counted work is gone from a tool. The same amount of what these trainers do next is not counted.',
    says: '<count> trainer(|s) in <scope> of “<tool>” (has|have) less work than was counted.',
    action: 'Run `gangway usage show <contract>` to see how much',
    page: '/work',
  },
  install_new: {
    severity: 'notice',
    means: 'Gangway has to read an install before it acts on older events.',
    says: 'Gangway is about to read <install> from the marketplace.',
    action: 'Wait. A running instance reads it',
    page: '/installs/<install>',
  },
  instance_silent: {
    severity: 'notice',
    means: 'An instance stopped without a clean shutdown. The others do its work.',
    says: 'Instance “<instance>” no longer responds.',
    action: 'Check whether the process of the instance runs, and what its log says',
  },
  config_changed: {
    severity: 'notice',
    means: 'The configuration has changed since an instance started.',
    says: 'Instance “<instance>” runs with an older configuration.',
    action: 'Restart the instance',
  },
} as const satisfies Record<string, TroubleRule>;

export type TroubleKind = keyof typeof rules;
export const troubleRules: Readonly<Record<TroubleKind, TroubleRule>> = rules;
