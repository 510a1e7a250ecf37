import { raisedTroubleRules } from './raised-trouble-rules.ts';
import type { TroubleRule } from './trouble-rule.ts';
import { workTroubleRules } from './work-trouble-rules.ts';

/** What needs an operator, each kind once: for `status`, the console, `doctor`, notices and `docs/operating.md`. */

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** What queries find. */
const listed = {
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
    notice: { quietMs: hourMs },
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
    notice: { afterMs: hourMs },
  },
  marketplace_refuses: {
    severity: 'down',
    means:
      'The marketplace refuses the token of an install. Gangway reads nothing with it, and removes nobody because of it.',
    says: 'The marketplace refuses the token of <install>.',
    action: 'Run `gangway connect <install>` with a new token, or replace the token in the configuration',
    page: '/installs/<install>',
    notice: {},
  },
  other_customer: {
    severity: 'down',
    means: 'The token of an install belongs to another customer or app. Gangway reads and changes nothing with it.',
    says: 'The token of <install> belongs to another customer or app than before.',
    action: 'Put the right token back, or run `gangway connect <install> --accept-other-customer`',
    page: '/installs/<install>',
    notice: {},
  },
  endpoint_trouble: {
    severity: 'down',
    means: 'Webhooks of an install may not arrive, and Gangway cannot repair that. It still reads on schedule.',
    says: 'Webhooks of <install> may not arrive.',
    action: 'Run `gangway endpoint status <install>`, then the command that it names',
    page: '/installs/<install>',
    notice: { quietMs: hourMs },
  },
  removals_held: {
    severity: 'held',
    means: 'More removals are due than the brake allows. They wait in a plan, and these people still have access.',
    says: '<count> removal(|s) of <install> need(s|) your decision.',
    action: 'Run `gangway plans show <plan>`, then `gangway plans approve <plan>` or `gangway plans reject <plan>`',
    page: '/plans/<plan>',
    notice: {},
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
  invitation_refused: {
    severity: 'waiting',
    means: 'The mail server refused the mail that tells a trainer how they get in.',
    says: 'The mail server refused the login of <count> trainer(|s).',
    action: 'Send it yourself: `gangway members waiting`, then `gangway members invitation <membership>`',
    page: '/invitations',
    notice: {},
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
  link_outside: {
    severity: 'waiting',
    means:
      'A customer linked a project that is not theirs, or in a mode that Gangway does not know. Nobody gets in by it, and nobody is removed.',
    says: '<count> link(|s) of <install> give(s|) nobody access.',
    action:
      'Run `gangway links list`. Name the project in installs.<install>.projects, or ask the customer to remove it',
    page: '/installs/<install>',
    notice: {},
  },
  link_uncounted: {
    severity: 'waiting',
    means: 'The adapter names no place where the work of a link is counted, so none of it is read.',
    says: 'The work of <count> link(|s) of <install> is not read.',
    action: 'Fix the adapter: `usageScopeFor` has to answer for the project',
    page: '/installs/<install>',
    notice: {},
  },
  contract_disputed: {
    severity: 'waiting',
    means: 'A contract was reported as ended, but the marketplace lists it as active. Its people keep their access.',
    says: '<count> ended contract(|s) of <install> (is|are) listed as active.',
    action:
      'If it goes on, run `gangway contracts reopen <contract>`. If it is over, run `gangway contracts end <contract>`',
    page: '/contracts?status=disputed&install=<install>',
    notice: {},
  },
  contract_suspect: {
    severity: 'waiting',
    means: 'A contract is no longer listed, and nothing says that it ended. Its people keep their access.',
    says: '<count><more> contract(|s) of <install> (is|are) no longer listed, but not reported as ended.',
    action: 'Run `gangway contracts list --suspects`, then `gangway contracts end <contract>` for each that is over',
    page: '/contracts?suspects=true&install=<install>',
    notice: { afterMs: dayMs },
  },
  delivery_failed: {
    severity: 'waiting',
    means: 'Gangway gave up on a webhook after several attempts.',
    says: 'Gangway gave up on <count> webhook(|s).',
    action: 'Run `gangway deliveries list --state failed`, then `gangway deliveries replay --failed`',
    page: '/deliveries?state=failed',
  },
  channel_failing: {
    severity: 'waiting',
    means: 'A channel does not accept notices. Gangway retries for three days.',
    says: 'Channel “<channel>” has not accepted <count> notice(|s) yet.',
    action: 'Run `gangway notifications list --state waiting`, fix the channel, then run `gangway notifications test`',
    page: '/notifications?state=waiting',
  },
  delivery_unprocessable: {
    severity: 'notice',
    means: 'Gangway could not understand a webhook. A later version may.',
    says: 'Gangway could not understand <count> webhook(|s).',
    action: 'Run `gangway deliveries list --state unprocessable` to see why',
    page: '/deliveries?state=unprocessable',
  },
  install_new: {
    severity: 'notice',
    means: 'Gangway has to read an install before it acts on older events.',
    says: 'Gangway is about to read <install> from the marketplace.',
    action: 'Wait. A running instance reads it',
    page: '/installs/<install>',
  },
  endpoint_unchecked: {
    severity: 'notice',
    means: 'The marketplace did not answer when Gangway checked the webhook endpoint of an install.',
    says: 'The webhook endpoint of <install> could not be checked.',
    action: 'Wait. Gangway retries',
    page: '/installs/<install>',
  },
  feed_unread: {
    severity: 'notice',
    means: 'The updates feed of your own account cannot be read. Webhooks and scheduled readings go on.',
    says: 'The feed of <install> cannot be read.',
    action: 'Run `gangway doctor` to see what is refused',
    page: '/installs/<install>',
    notice: { afterMs: hourMs },
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
  ...workTroubleRules,
} as const satisfies Record<string, TroubleRule>;

const rules = { ...listed, ...raisedTroubleRules };

export type TroubleKind = keyof typeof rules;
export const troubleRules: Readonly<Record<TroubleKind, TroubleRule>> = rules;

/** Kinds that code raises as alerts. */
export type RaisedKind = keyof typeof raisedTroubleRules;
/** Kinds that are alerts as long as a query lists them. */
export type ToldKind = {
  [Kind in keyof typeof listed]: 'notice' extends keyof (typeof listed)[Kind] ? Kind : never;
}[keyof typeof listed];
export type AlertKind = RaisedKind | ToldKind;

export function isRaised(kind: string): kind is RaisedKind {
  return Object.hasOwn(raisedTroubleRules, kind);
}
