import type { Context } from '../context.ts';
import { statusOfContract, statusOfLink } from '../domain/evidence-status.ts';
import { isBlocked } from '../domain/guideline-state.ts';
import { findGuideline } from '../guidelines/guideline-store.ts';
import type { AlertKind } from '../lib/alerts.ts';
import { outsideOf, usageScopeOf } from '../memberships/wall.ts';
import { listSuspects, suspectsAmong } from '../reconcile/runs/suspect-store.ts';
import { isUsageTroubled } from '../usage/due/trouble-store.ts';
import type { AlertSubject } from './alert-subject.ts';
import {
  areManualsUnread,
  doAddressesDiffer,
  isBudgetNotified,
  isEndpointTroubled,
  isFeedFailing,
  isMailRefused,
  isPaymentPending,
  isPlanOpen,
  isReadingFailing,
  isScopeFailing,
  isToolTroubled,
  type Standing,
  standingContract,
  standingLink,
  standingMembership,
  wasAddedAfter,
} from './standing-store.ts';

/**
 * How each kind of alert is known to be over (docs/alerts.md). The question is asked again and again, about what is
 * stored now, so that no end of a trouble can be missed.
 */
export interface AlertRule {
  /** The fields that identify what it is about: two alerts with the same are one. */
  subject: readonly string[];
  /**
   * `at_once`: it is news, and nothing stands. `observed`: the code that finds it looks at everything in a scope, and
   * says each time what still stands there. `asked`: what is stored says so.
   */
  over: 'at_once' | 'observed' | 'asked';
  /** Of what is observed: the fields of the scope. */
  scope?: readonly string[];
  /**
   * Whether it still stands. Of what is observed: whether it can still be observed, as no one would say that it is over
   * if a tool is no longer configured.
   */
  stands?(ctx: Context, subject: AlertSubject, asked: Asked): Promise<boolean>;
  /** It may come and go within minutes: after it was over, it is not announced anew for so long. */
  quietMs?: number;
  /** Whether notices of another kind announce it, and its end. */
  isNoticedElsewhere?: boolean;
}

/** What the questions need besides what is stored. */
interface Asked {
  seenAt: string;
  deferralOf: DeferralOf;
}

/** Why a large delivery of an install would not be stored now. */
export type DeferralOf = (install: string) => Promise<'stored_bytes' | 'disk_reserve' | undefined>;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const outStates: ReadonlySet<string> = new Set(['removed', 'released', 'orphaned']);
const settledStates: ReadonlySet<string> = new Set([...outStates, 'active', 'invited']);

/** A trainer who is to be out, and is not known to be. */
const isStillToGo = membershipOf(({ wanted, state }) => !wanted && !outStates.has(state));

const isInstallUnread: Question = async (ctx, { install = '' }) =>
  ctx.installs.has(install) && (await isReadingFailing(ctx, install));

const isInstallConfigured: Question = async ({ installs }, { install = '' }) => installs.has(install);

const isToolConfigured: Question = async ({ adapters }, { tool = '' }) => adapters.has(tool);

export const alertRules: Readonly<Record<AlertKind, AlertRule>> = {
  removals_held: asked(['install', 'plan'], (ctx, { plan }) => isPlanOpen(ctx, Number(plan))),
  contract_disputed: asked(['install', 'contract'], isDisputed),
  link_outside: asked(['install', 'link'], isLinkOutside),
  tool_left_alone: {
    ...asked(['tool'], async (ctx, { tool = '' }) => {
      return ctx.adapters.has(tool) && (await isToolTroubled(ctx, tool));
    }),
    quietMs: hourMs,
  },
  absence_unproven: asked(['membership'], isStillToGo),
  marketplace_refuses: asked(['install'], isInstallUnread),
  job_unread: observed(['install', 'job'], ['install'], isInstallConfigured),
  feed_unread: asked(['install'], async (ctx, { install = '' }) => {
    return ctx.installs.has(install) && (await isFeedFailing(ctx, install));
  }),
  token_expires: observed(['install'], ['install'], isInstallConfigured),
  other_customer: asked(['install'], isInstallUnread),
  other_server: { ...observed(['tool'], ['tool'], isToolConfigured), quietMs: hourMs },
  managed_address_leaked: observed(['tool', 'group', 'member'], ['tool', 'group'], isToolConfigured),
  removed_member_returned: asked(['membership'], isStillToGo),
  member_keeps_vanishing: asked(['membership'], hasVanishedLately),
  address_changed: observed(['tool', 'group', 'membership'], ['tool', 'group'], isConfiguredAndWanted),
  id_of_another: asked(
    ['membership'],
    membershipOf(({ doubtedId, state }) => doubtedId !== null || !settledStates.has(state)),
  ),
  address_disagreement: asked(['tool', 'trainer'], (ctx, { tool = '', trainer = '' }) =>
    doAddressesDiffer(ctx, tool, trainer),
  ),
  contract_suspect: asked(['install', 'contract'], isSuspected),
  evidence_held: observed(['install', 'contract', 'trainer'], ['install'], isInstallConfigured),
  clock_drift: {
    // A machine that is gone measures nothing more.
    ...observed(['machine'], ['machine'], async ({ clock }, _, { seenAt }) => {
      return clock.now().getTime() - Date.parse(seenAt) < dayMs;
    }),
    quietMs: hourMs,
  },
  clock_set_back: { subject: [], over: 'at_once', quietMs: hourMs },
  invitation_refused: asked(['tool', 'membership'], (ctx, { membership }) => isMailRefused(ctx, Number(membership))),
  endpoint_disabled: { subject: ['install', 'endpointId'], over: 'at_once', quietMs: hourMs },
  endpoint_trouble: {
    ...asked(['install'], async (ctx, { install = '' }) => {
      return ctx.installs.has(install) && (await isEndpointTroubled(ctx, install));
    }),
    quietMs: hourMs,
  },
  usage_unread: asked(['install', 'link', 'tool', 'scope'], isWorkUnread),
  usage_held: asked(['install', 'reason'], (ctx, { install = '', reason = 'held' }) =>
    isUsageTroubled(ctx, reason, install),
  ),
  usage_refused: asked(['install'], (ctx, { install = '' }) => isUsageTroubled(ctx, 'refused', install)),
  usage_miscounted: { subject: [], over: 'at_once', quietMs: hourMs },
  guideline_unwritten: asked(['install', 'tool', 'project'], isGuidelineUnwritten),
  budget_low: { ...budgetIs('low'), isNoticedElsewhere: true },
  budget_depleted: { ...budgetIs('depleted'), isNoticedElsewhere: true },
  payment_waiting: { ...asked(['install', 'payment'], isPaymentWaiting), quietMs: hourMs },
  // A day: two channels that fail must not go on reporting each other.
  notification_failed: { subject: ['channel'], over: 'at_once', quietMs: dayMs },
  storage_used_up: { ...asked(['install'], isDeferredFor('stored_bytes')), quietMs: hourMs },
  disk_short: { ...asked(['install'], isDeferredFor('disk_reserve')), quietMs: hourMs },
  database_lost: observed([], [], async () => true),
};

/** The rule of a stored kind; undefined for a kind of a newer version. */
export function ruleOf(kind: string): AlertRule | undefined {
  return Object.hasOwn(alertRules, kind) ? alertRules[kind as AlertKind] : undefined;
}

type Question = NonNullable<AlertRule['stands']>;

function asked(subject: readonly string[], stands: Question): AlertRule {
  return { subject, over: 'asked', stands };
}

function observed(subject: readonly string[], scope: readonly string[], stands: Question): AlertRule {
  return { subject, over: 'observed', scope, stands };
}

function membershipOf(stands: (membership: Standing) => boolean): Question {
  return async (ctx, { membership }) => {
    const known = await standingMembership(ctx, Number(membership));
    return known !== undefined && stands(known);
  };
}

async function isDisputed(ctx: Context, { install = '', contract = '' }: AlertSubject): Promise<boolean> {
  const known = await standingContract(ctx, install, contract);
  return known !== undefined && statusOfContract(known) === 'disputed';
}

/** The question behind `link_outside`, without the links that are gone. */
async function isLinkOutside(ctx: Context, { install = '', link = '' }: AlertSubject): Promise<boolean> {
  const known = await standingLink(ctx, install, link);
  if (known === undefined || !ctx.installs.has(install)) return false;
  const status = statusOfLink(known);
  return status !== 'removed' && status !== 'absent' && outsideOf(ctx, known) !== null;
}

/** They are added back, and must stay in for a day. */
async function hasVanishedLately(ctx: Context, { membership }: AlertSubject, { seenAt }: Asked): Promise<boolean> {
  const known = await standingMembership(ctx, Number(membership));
  if (known === undefined || !known.wanted || outStates.has(known.state)) return false;
  const since = new Date(ctx.clock.now().getTime() - dayMs).toISOString();
  return seenAt > since || !settledStates.has(known.state) || (await wasAddedAfter(ctx, Number(membership), since));
}

async function isConfiguredAndWanted(ctx: Context, subject: AlertSubject, asked: Asked): Promise<boolean> {
  const isWanted = membershipOf(({ wanted, state }) => wanted && !outStates.has(state));
  return (await isToolConfigured(ctx, subject, asked)) && (await isWanted(ctx, subject, asked));
}

/** An alert without a contract is about all of the install: they were too many to name each. */
async function isSuspected(ctx: Context, { install = '', contract }: AlertSubject): Promise<boolean> {
  if (!ctx.installs.has(install)) return false;
  const found =
    contract === undefined ? listSuspects(ctx, [install], 1) : suspectsAmong(ctx, [{ install, contractId: contract }]);
  return (await found).length > 0;
}

/** Either a scope cannot be read, or a link has none. */
async function isWorkUnread(ctx: Context, subject: AlertSubject): Promise<boolean> {
  const { install, link = '', tool = '', scope } = subject;
  const adapter = ctx.adapters.get(tool);
  if (adapter === undefined) return false;
  if (scope !== undefined) return await isScopeFailing(ctx, tool, scope);
  const known = await standingLink(ctx, install ?? '', link);
  if (known === undefined || ctx.installs.get(known.install)?.tool !== tool) return false;
  return statusOfLink(known) === 'live' && usageScopeOf(adapter, known) === undefined;
}

/** Either a project does not show what is published, or the manuals of an install cannot be read. */
async function isGuidelineUnwritten(ctx: Context, subject: AlertSubject): Promise<boolean> {
  const { install, tool = '', project = '' } = subject;
  // What no one looks at any more, because it is not wanted any more, is over.
  const since = new Date(ctx.clock.now().getTime() - dayMs).toISOString();
  if (install !== undefined) return ctx.installs.has(install) && (await areManualsUnread(ctx, install, since));
  const known = await findGuideline(ctx, { tool, project });
  return known !== undefined && ctx.installs.has(known.install) && isBlocked(known) && known.lookedAt > since;
}

function budgetIs(state: 'low' | 'depleted'): AlertRule {
  return asked(['install', 'contract'], (ctx, { install = '', contract = '' }) =>
    ctx.installs.has(install) ? isBudgetNotified(ctx, install, contract, state) : Promise.resolve(false),
  );
}

/** An alert without a payment is about all of the install: they were too many to name each. */
async function isPaymentWaiting(ctx: Context, { install = '', payment }: AlertSubject): Promise<boolean> {
  return ctx.installs.has(install) && (await isPaymentPending(ctx, install, payment));
}

function isDeferredFor(reason: 'stored_bytes' | 'disk_reserve'): Question {
  return async ({ installs }, { install = '' }, { deferralOf }) =>
    installs.has(install) && (await deferralOf(install)) === reason;
}
