import type { TroubleRule } from './raised-trouble-rules.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Troubles that queries find in work, and in the budgets that pay for it. */
export const workTroubleRules = {
  usage_held: {
    severity: 'held',
    means: 'Work is not reported, because its contract is unknown or its counts cannot be right.',
    says: '<count> day(|s) of work<of> (is|are) held for your decision.',
    action: 'Run `gangway usage held`, then assign or discard each',
    page: '/work/held',
    notice: {},
  },
  usage_lowering: {
    severity: 'held',
    means: 'A report would lower more reported work than it may without your consent.',
    says: '<count> day(|s) of work<of> would be reported lower than before.',
    action: 'Check with `gangway usage preview`, then run `gangway usage report --accept-lowered`',
    page: '/work/held',
    notice: {},
  },
  usage_late: {
    severity: 'held',
    means: 'Work changed after the last report of its day.',
    says: '<count> day(|s) of work<of> changed after the last report.',
    action: 'Run `gangway usage held`, then send or dismiss each',
    page: '/work/held',
    notice: {},
  },
  budget_depleted: {
    severity: 'waiting',
    means: 'The budget of a contract is used up. Its people keep their access.',
    says: '<count> contract(|s) of <install> (has|have) no budget left.',
    action: 'Fund the next milestone (`gangway milestones fund`, or ask the customer), or end the contract',
    page: '/budgets?state=depleted',
    notice: { isNoticedElsewhere: true },
  },
  payment_waiting: {
    severity: 'waiting',
    means: 'A milestone or payout of your own account waits for you. Gangway never pays.',
    says: '<payment> of <install> wait(s|) for you.',
    action: 'Settle it at the marketplace',
    notice: { quietMs: hourMs },
  },
  approval_waiting: {
    severity: 'waiting',
    means: 'A hire, a payment or the end of a contract waits for a person at the marketplace, who has three days.',
    says: 'A person at the marketplace must confirm <approval> of <install>.',
    action: 'Confirm or decline it there',
    page: '/hires?install=<install>',
    notice: { quietMs: hourMs },
  },
  approval_lost: {
    severity: 'waiting',
    means:
      'The answer to a request for an approval was lost. Gangway does not ask again by itself, so that nobody is paid twice.',
    says: 'Nobody knows whether <approval> of <install> waits for a person.',
    action: 'Look in your account at the marketplace; if it does not wait there, ask again with `--again`',
    page: '/hires?install=<install>',
  },
  claim_waiting: {
    severity: 'waiting',
    means: 'An account that Gangway registered waits for a person to claim it. Until then it can hire nobody.',
    says: 'The account <install> waits to be claimed.',
    action: 'Open the claim link, and keep `gangway connect <install> --register` running',
    page: '/installs/<install>',
  },
  usage_refused: {
    severity: 'waiting',
    means: 'The marketplace refuses reported work.',
    says: 'The marketplace refuses <count> day(|s) of work<of>.',
    action: 'Run `gangway usage check`, then `gangway usage show <contract>`, and correct what it names',
    page: '/work?install=<install>&from=<day>',
    notice: {},
  },
  usage_unread: {
    severity: 'waiting',
    means: 'The work in a project cannot be read. Work that was reported stays.',
    says: 'No work can be read from “<tool>”: <scopes>.',
    action: 'Give the token of the tool access to the project, or remove its link: `gangway links list`',
    page: '/work',
    notice: { afterMs: dayMs },
  },
  usage_never_read: {
    severity: 'waiting',
    means: 'The work in a linked project could not be read yet, so none of it is reported.',
    says: 'No work could be read yet from “<tool>”: <scopes>.',
    action: 'Give the token of the tool access to the project, or remove its link: `gangway links list`',
    page: '/work',
    notice: { afterMs: 10 * minuteMs },
  },
  usage_gone: {
    severity: 'waiting',
    means: 'A tool says that a linked project does not exist.',
    says: 'Tool “<tool>” has no project(|s) <scopes>.',
    action: 'Bring the project back, or remove its link: `gangway links list`',
    page: '/installs',
    notice: { afterMs: 10 * minuteMs },
  },
  guideline_unwritten: {
    severity: 'waiting',
    means:
      'A project does not show the guidelines published for its job, and Gangway does not overwrite it without you.',
    says: 'Project <project> in “<tool>” does not show the published guidelines.',
    action:
      'Run `gangway guidelines diff --project <project>`, then `gangway guidelines sync --project <project> --overwrite`',
    page: '/installs/<install>',
    notice: {},
  },
  budget_low: {
    severity: 'notice',
    means: 'The budget of a contract runs out.',
    says: '<count> contract(|s) of <install> (is|are) running out of budget.',
    action: 'Fund the next milestone (`gangway milestones fund`, or ask the customer)',
    page: '/budgets?state=low',
    notice: { isNoticedElsewhere: true },
  },
  reading_fails: {
    severity: 'notice',
    means: 'Budgets, manuals, tokens or waiting payments of an install cannot be read, although the install can.',
    says: 'The <what> of <install> cannot be read.',
    action: 'Check the scopes of the token of <install>. Gangway retries',
    page: '/installs/<install>',
    notice: { quietMs: hourMs },
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
} as const satisfies Record<string, TroubleRule>;
