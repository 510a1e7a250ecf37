import { createHash } from 'node:crypto';
import type { Context } from '../context.ts';
import { dayMs } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import type { AlertKind, RaisedKind } from '../lib/troubles.ts';
import {
  type AlertedMembership,
  type AlertSubject,
  doAddressesDiffer,
  findMembershipState,
  wasAddedAfter,
} from './alert-store.ts';

/**
 * How Gangway finds out that an alert is over. It asks again and again what the database says now, so that it misses no
 * end.
 */
export interface AlertRule {
  /** The fields that identify what it is about. Two alerts with equal fields are one. */
  subject: readonly string[];
  /**
   * `at_once`: it is news, and over as soon as it is raised. `observed`: the code that finds it looks at everything in a
   * scope, and each time reports all that is still wrong there. `asked`: by a query.
   */
  over: 'at_once' | 'observed' | 'asked';
  /** The fields of the scope, for `observed`. */
  scope?: readonly string[];
  /**
   * Whether it is still open. For `observed`: whether it can still be observed, because nobody reports the end of a
   * trouble in a tool that is no longer configured.
   */
  isOpen?(ctx: Context, subject: AlertSubject, facts: AlertFacts): Promise<boolean>;
}

/** What else a question may use. */
interface AlertFacts {
  seenAt: string;
  deferralOf: DeferralOf;
}

/** Why a large delivery of an install would not be stored now; undefined if it would be. */
export type DeferralOf = (install: string) => Promise<'stored_bytes' | 'disk_reserve' | undefined>;

const outStates: ReadonlySet<string> = new Set(['removed', 'released', 'orphaned']);
const settledStates: ReadonlySet<string> = new Set([...outStates, 'active', 'invited']);

/** A trainer who should be out, and may still be in. */
const isStillToGo = membershipOf(({ wanted, state }) => !wanted && !outStates.has(state));

const isInstallConfigured: Question = async ({ installs }, { install = '' }) => installs.has(install);

/** The code that raised it says when it is over. */
const isStillOpen: Question = async () => true;

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
  // A machine that was switched off measures nothing more.
  clock_drift: observed(['machine'], ['machine'], async ({ clock }, _, { seenAt }) => {
    return clock.now().getTime() - Date.parse(seenAt) < dayMs;
  }),
  clock_set_back: { subject: [], over: 'at_once' },
  endpoint_disabled: { subject: ['install', 'endpointId'], over: 'at_once' },
  usage_miscounted: { subject: [], over: 'at_once' },
  notification_failed: { subject: ['channel'], over: 'at_once' },
  storage_used_up: asked(['install'], isDeferredFor('stored_bytes')),
  disk_short: asked(['install'], isDeferredFor('disk_reserve')),
  disk_low: observed([], [], isStillOpen),
  disk_full: observed([], [], isStillOpen),
  database_lost: observed([], [], isStillOpen),
};

/** Undefined for a kind of a newer version, and for one that the list of troubles finds. */
export function ruleOf(kind: string): AlertRule | undefined {
  return Object.hasOwn(alertRules, kind) ? alertRules[kind as RaisedKind] : undefined;
}

type Question = NonNullable<AlertRule['isOpen']>;

function asked(subject: readonly string[], isOpen: Question): AlertRule {
  return { subject, over: 'asked', isOpen };
}

function observed(subject: readonly string[], scope: readonly string[], isOpen: Question): AlertRule {
  return { subject, over: 'observed', scope, isOpen };
}

function membershipOf(isOpen: (membership: AlertedMembership) => boolean): Question {
  return async (ctx, { membership }) => {
    const known = await findMembershipState(ctx, Number(membership));
    return known !== undefined && isOpen(known);
  };
}

/** Gangway adds them back. The alert is over when they have stayed in for a day. */
async function hasVanishedLately(ctx: Context, { membership }: AlertSubject, { seenAt }: AlertFacts): Promise<boolean> {
  const known = await findMembershipState(ctx, Number(membership));
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

/** The fields of a log line that a notice may contain: ids and names, no numbers. */
const shownFields = [
  'install',
  'tool',
  'group',
  'contract',
  'trainer',
  'membership',
  'member',
  'link',
  'project',
  'plan',
  'job',
  'payment',
  'reading',
  'url',
  'scope',
  'endpointId',
  'channel',
  'machine',
  'reason',
  'errorCode',
];

/** Other names that some log lines use for these fields. */
const aliases: Readonly<Record<string, string>> = { contract: 'contractId', trainer: 'trainerId' };

const longestValue = 200;

/** Pure: picks these ids from the fields of a log line. */
export function pickIds(fields: object, names: readonly string[]): AlertSubject {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value: unknown = Reflect.get(fields, name) ?? Reflect.get(fields, aliases[name] ?? name);
      return value === undefined || value === null ? [] : [[name, String(value)]];
    }),
  );
}

/** A longer URL is left out, because a shortened one would lead elsewhere. */
const longestUrl = 1000;

/** Pure: picks what a notice shows of the fields of a log line. */
export function aboutOf(fields: object): Record<string, string> {
  const { url, ...ids } = pickIds(fields, shownFields);
  const shown = Object.entries(ids).map(([name, id]) => [name, maskText(id).slice(0, longestValue).toWellFormed()]);
  return { ...Object.fromEntries(shown), ...(url !== undefined && isShowable(url) && { url }) };
}

function isShowable(url: string): boolean {
  return /^https?:\/\/\S+$/.test(url) && url.length <= longestUrl && maskText(url) === url;
}

/** Equal for alerts of one kind about one subject. */
export function digestOf(kind: AlertKind, subject: AlertSubject): string {
  return createHash('sha256')
    .update(JSON.stringify([kind, subject]))
    .digest('hex');
}
