import type { Context } from '../context.ts';
import type { RaisedKind } from '../lib/troubles.ts';
import type { AlertSubject } from './alert-subject.ts';
import { doAddressesDiffer, type Standing, standingMembership, wasAddedAfter } from './standing-store.ts';

/**
 * How each kind of alert is known to be over. The question is asked again and again, about what is stored now, so that
 * no end of a trouble can be missed.
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
  stands?(ctx: Context, subject: AlertSubject, facts: AlertFacts): Promise<boolean>;
}

/** What is known of an alert besides what is stored about its subject. */
interface AlertFacts {
  seenAt: string;
  deferralOf: DeferralOf;
}

/** Why a large delivery of an install would not be stored now. */
export type DeferralOf = (install: string) => Promise<'stored_bytes' | 'disk_reserve' | undefined>;

const dayMs = 86_400_000;

const outStates: ReadonlySet<string> = new Set(['removed', 'released', 'orphaned']);
const settledStates: ReadonlySet<string> = new Set([...outStates, 'active', 'invited']);

/** A trainer who is to be out, and is not known to be. */
const isStillToGo = membershipOf(({ wanted, state }) => !wanted && !outStates.has(state));

const isInstallConfigured: Question = async ({ installs }, { install = '' }) => installs.has(install);

const isToolConfigured: Question = async ({ adapters }, { tool = '' }) => adapters.has(tool);

export const alertRules: Readonly<Record<RaisedKind, AlertRule>> = {
  absence_unproven: asked(['membership'], isStillToGo),
  job_unread: observed(['install', 'job'], ['install'], isInstallConfigured),
  token_expires: observed(['install'], ['install'], isInstallConfigured),
  other_server: observed(['tool'], ['tool'], isToolConfigured),
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
  evidence_held: observed(['install', 'contract', 'trainer'], ['install'], isInstallConfigured),
  // A machine that is gone measures nothing more.
  clock_drift: observed(['machine'], ['machine'], async ({ clock }, _, { seenAt }) => {
    return clock.now().getTime() - Date.parse(seenAt) < dayMs;
  }),
  clock_set_back: { subject: [], over: 'at_once' },
  endpoint_disabled: { subject: ['install', 'endpointId'], over: 'at_once' },
  usage_miscounted: { subject: [], over: 'at_once' },
  notification_failed: { subject: ['channel'], over: 'at_once' },
  storage_used_up: asked(['install'], isDeferredFor('stored_bytes')),
  disk_short: asked(['install'], isDeferredFor('disk_reserve')),
  database_lost: observed([], [], async () => true),
};

/** Undefined for a kind of a newer version, and for one that the list of troubles finds. */
export function ruleOf(kind: string): AlertRule | undefined {
  return Object.hasOwn(alertRules, kind) ? alertRules[kind as RaisedKind] : undefined;
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

/** They are added back, and must stay in for a day. */
async function hasVanishedLately(ctx: Context, { membership }: AlertSubject, { seenAt }: AlertFacts): Promise<boolean> {
  const known = await standingMembership(ctx, Number(membership));
  if (known === undefined || !known.wanted || outStates.has(known.state)) return false;
  const since = new Date(ctx.clock.now().getTime() - dayMs).toISOString();
  return seenAt > since || !settledStates.has(known.state) || (await wasAddedAfter(ctx, Number(membership), since));
}

async function isConfiguredAndWanted(ctx: Context, subject: AlertSubject, facts: AlertFacts): Promise<boolean> {
  const isWanted = membershipOf(({ wanted, state }) => wanted && !outStates.has(state));
  return (await isToolConfigured(ctx, subject, facts)) && (await isWanted(ctx, subject, facts));
}

function isDeferredFor(reason: 'stored_bytes' | 'disk_reserve'): Question {
  return async ({ installs }, { install = '' }, { deferralOf }) =>
    installs.has(install) && (await deferralOf(install)) === reason;
}
