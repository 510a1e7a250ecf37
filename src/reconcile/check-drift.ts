import type { Adapter, Member } from '../adapters/adapter.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { type AppError, isTransient, toAppError } from '../domain/errors.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import type { EvidenceStore } from '../engine/evidence-store.ts';
import type { RouteLink } from '../engine/link-router.ts';
import { isProtected } from '../engine/protected-account.ts';
import { type ListMembers, readGroup } from '../engine/read-group.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { maskText } from '../lib/mask.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { DriftStore, Group } from './drift-store.ts';
import { judgeDrift, judgeReturn, type ListedAccount, type Verdict } from './judge-drift.ts';

import type { GroupDrift, ReportDrift } from './report-drift.ts';

export interface CheckDriftDeps {
  database: Database;
  drifts: DriftStore;
  evidence: Pick<EvidenceStore, 'lock'>;
  box: Pick<SecretBox, 'digests'>;
  adapters: ReadonlyMap<string, Adapter>;
  /** By tool: accounts that are never touched, as addresses or the tool's ids. */
  protectedAccounts: ReadonlyMap<string, readonly string[]>;
  managedDomains: readonly string[];
  routeLink: RouteLink;
  /** How long a removal waits that nothing but a listing speaks for. */
  graceMs: number;
  report: ReportDrift;
  metrics: Metrics;
  logger: Logger;
  clock: Clock;
  /** Called when there is something to be done in a tool. */
  onMembershipDue(): void;
}

/** Compares what an install's groups list with what is known. Never throws. */
export type CheckDrift = (install: string, signal: AbortSignal) => Promise<void>;

/** By how much two instances may differ in the time: a call of just before the listing counts too. */
const clockMarginMs = 5000;
const listingTimeoutMs = 60_000;
/** Beyond that a group is not compared. */
const maxMembers = 50_000;
/** Per group and run; the rest, those that were looked at last, are left to the next. */
const maxChanges = 200;
/** However many groups there are: what is left then comes first in the next run. */
const runMs = 5 * 60_000;
/** A group of several installs that are read one after the other is listed once. */
const listedAgainAfterMs = 60_000;
/** Groups that nobody was in for that long are no longer listed. */
const lookBackMs = 30 * 24 * 3_600_000;

/**
 * Drift (design section 4.3): whoever is missing is looked at again and added back, whoever we had
 * removed is removed again, everything else is reported. A listing that failed judges nobody, and an
 * empty one only has everybody looked at: what a listing does not show is never a reason to remove.
 */
export function createCheckDrift(deps: CheckDriftDeps): CheckDrift {
  const { logger, clock } = deps;
  /** By group, when it was last tried. */
  const triedAt = new Map<string, number>();

  async function check(install: string, signal: AbortSignal): Promise<void> {
    const endsAt = clock.now().getTime() + runMs;
    const lastTried = (group: Group) => triedAt.get(keyOf(group)) ?? 0;
    const isDue = (group: Group) =>
      // Either way: a clock that was ahead and is right again keeps no group from being listed.
      Math.abs(clock.now().getTime() - lastTried(group)) >= listedAgainAfterMs;
    const groups = (await findGroups(deps, install))
      .filter(isDue)
      .sort((a, b) => lastTried(a) - lastTried(b));
    const silent = new Set<string>();
    for (const group of groups) {
      if (signal.aborted || clock.now().getTime() > endsAt) return;
      if (silent.has(group.tool)) continue;
      triedAt.set(keyOf(group), clock.now().getTime());
      const isAnswered = await checkGroup(deps, group, signal);
      if (!isAnswered) silent.add(group.tool);
    }
  }

  return async (install, signal) => {
    try {
      await check(install, signal);
    } catch (error) {
      if (signal.aborted) return;
      logger.error(
        { install, err: toAppError(error) },
        'The groups of an install were not compared',
      );
    }
  };
}

/** Those that the configuration leads to: an install never acts, or looks, outside of its walls. */
export async function findGroups(
  { drifts, adapters, routeLink, clock }: CheckDriftDeps,
  install: string,
): Promise<Group[]> {
  const routed = new Set<string>();
  for (const link of await drifts.linksOf(install)) {
    const route = routeLink(link);
    if (route !== undefined) routed.add(keyOf(route));
  }
  const groups = await drifts.groupsOf(install, instantIn(clock, -lookBackMs));
  const isListed = (group: Group) => adapters.get(group.tool)?.listMembers !== undefined;
  return groups.filter((group) => isListed(group) && routed.has(keyOf(group)));
}

/** @returns false where the tool is better not asked for another group now */
async function checkGroup(
  deps: CheckDriftDeps,
  group: Group,
  signal: AbortSignal,
): Promise<boolean> {
  const { adapters, metrics } = deps;
  const { tool } = group;
  let listing: ListedGroup | null;
  try {
    listing = await listGroup(deps, group, signal);
  } catch (thrown) {
    if (signal.aborted) return false;
    return reportFailure(deps, group, toAppError(thrown));
  }
  if (listing === null) return true;
  metrics.listings.inc({ tool, outcome: 'listed' });
  const drift = await judgeAndWrite(deps, group, listing);
  const followsAddresses = adapters.get(tool)?.updateEmail !== undefined;
  deps.report(group, { ...drift, followsAddresses });
  if (drift.lookedAt > 0) deps.onMembershipDue();
  return true;
}

function reportFailure(
  { metrics, logger }: CheckDriftDeps,
  { tool, groupId }: Group,
  error: AppError,
): boolean {
  metrics.listings.inc({ tool, outcome: 'failed' });
  const message = maskText(error.message).slice(0, 300);
  logger.warn(
    { tool, group: groupId, errorCode: error.code, message },
    'The members of a group could not be listed: nobody is judged by that',
  );
  const isRefused = error.code === 'unauthenticated' || error.code === 'forbidden';
  return !isTransient(error) && !isRefused;
}

/** What the tool lists in a group, and since when that may be so. @throws AppError */
export async function listGroup(
  { adapters, clock }: Pick<CheckDriftDeps, 'adapters' | 'clock'>,
  { tool, groupId }: Group,
  signal: AbortSignal,
): Promise<ListedGroup | null> {
  const adapter = adapters.get(tool);
  if (adapter?.listMembers === undefined) return null;
  const list: ListMembers = adapter.listMembers.bind(adapter);
  const listedAt = instantIn(clock, -clockMarginMs);
  const limits = { timeoutMs: listingTimeoutMs, maxMembers };
  return { listedAt, members: await readGroup(list, groupId, limits, signal) };
}

export interface ListedGroup {
  listedAt: string;
  members: Member[];
}

/** What the listing says of everybody. */
export async function judgeGroup(
  deps: CheckDriftDeps,
  db: Transaction,
  group: Group,
  { members, listedAt }: ListedGroup,
): Promise<Verdict[]> {
  const accounts = members.map((member) => toAccount(deps, group.tool, member));
  return judgeDrift(await deps.drifts.membersOf(db, group, listedAt), accounts);
}

async function judgeAndWrite(
  deps: CheckDriftDeps,
  group: Group,
  listing: ListedGroup,
): Promise<Omit<GroupDrift, 'followsAddresses'>> {
  const { database, evidence } = deps;
  const judge = (db: Transaction) => judgeGroup(deps, db, group, listing);
  const listed = listing.members.length;
  const nothing = { listed, lookedAt: 0, removedAgain: [], vanishing: [] };
  // Mostly there is nothing to write, and so nobody has to wait for a large group to be judged.
  const verdicts = await judge(database.kysely);
  if (!verdicts.some(isToWrite)) return { verdicts, ...nothing };
  return await inTransaction(database, async (tx) => {
    await evidence.lock(tx);
    const current = await judge(tx);
    const removedAgain = await removeAgain(deps, tx, current);
    return { listed, removedAgain, ...(await lookAgain(deps, tx, current)), verdicts: current };
  });
}

function isToWrite({ kind }: Verdict): boolean {
  return kind !== 'stranger' && kind !== 'leak';
}

/** Whom the listing misses, and whether they are to be put back now. */
export async function judgeReturns(
  { drifts, clock }: CheckDriftDeps,
  tx: Transaction,
  verdicts: Verdict[],
): Promise<GroupDrift['vanishing']> {
  const missing = idsOf(verdicts, 'missing');
  const arrivals = await drifts.arrivalsOf(tx, missing);
  return missing.map((membershipId) => ({
    ...{ membershipId, ...judgeReturn(arrivals.get(membershipId) ?? [], clock.now()) },
  }));
}

async function lookAgain(
  deps: CheckDriftDeps,
  tx: Transaction,
  verdicts: Verdict[],
): Promise<Pick<GroupDrift, 'lookedAt' | 'vanishing'>> {
  const { drifts, clock } = deps;
  const returns = await judgeReturns(deps, tx, verdicts);
  const due = returns.filter(({ isDue }) => isDue).map(toId);
  const ids = [...due, ...idsOf(verdicts, 'address_changed'), ...idsOf(verdicts, 'id_changed')];
  await drifts.lookAgain(tx, ids, toInstant(clock.now()));
  const vanishing = returns.filter(({ timesAddedBack }) => timesAddedBack > 0);
  return { lookedAt: ids.length, vanishing };
}

/**
 * Whom we had removed and who are to go again; not those for whom there may be a reason that is not
 * known yet.
 *
 * @param reading an install of which all is known now
 */
export async function judgeFoundAgain(
  { drifts }: CheckDriftDeps,
  tx: Transaction,
  verdicts: Verdict[],
  reading?: string,
): Promise<{ membershipId: number; memberId: string }[]> {
  const found = verdicts.filter((verdict) => verdict.kind === 'found_again').slice(0, maxChanges);
  const undecided = await drifts.undecided(tx, found.map(toId), reading);
  return found.filter((one) => !undecided.has(toId(one)));
}

/** @returns the memberships */
async function removeAgain(
  deps: CheckDriftDeps,
  tx: Transaction,
  verdicts: Verdict[],
): Promise<number[]> {
  const { drifts, graceMs, clock } = deps;
  const decided = await judgeFoundAgain(deps, tx, verdicts);
  const removeAfter = instantIn(clock, graceMs);
  for (const { membershipId, memberId } of decided) {
    await drifts.removeAgain(tx, { membershipId, memberId, removeAfter }, toInstant(clock.now()));
  }
  return decided.map(toId);
}

export function toId({ membershipId }: { membershipId: number }): number {
  return membershipId;
}

type LookedAt = 'missing' | 'id_changed' | 'address_changed';

function idsOf(verdicts: Verdict[], kind: LookedAt): number[] {
  const ids = verdicts.flatMap((verdict) => (verdict.kind === kind ? [verdict.membershipId] : []));
  return ids.slice(0, maxChanges);
}

function toAccount(
  { box, managedDomains, protectedAccounts }: CheckDriftDeps,
  tool: string,
  member: Member,
): ListedAccount {
  const address = member.email?.toLowerCase() ?? null;
  return {
    id: member.id,
    digests: address === null ? [] : box.digests(address),
    isManaged: address !== null && managedDomains.includes(domainOf(address)),
    isProtected: isProtected(protectedAccounts.get(tool) ?? [], member),
  };
}

function keyOf({ tool, groupId }: Group): string {
  return JSON.stringify([tool, groupId]);
}
