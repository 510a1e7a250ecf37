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
import {
  judgeDrift,
  judgeReturn,
  judgeUnconfirmed,
  type ListedAccount,
  type Verdict,
} from './judge-drift.ts';
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
    await lookAtUnlisted(deps, install);
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

/** Where nothing is listed, each of those who are to be seen once more is looked at. */
async function lookAtUnlisted(
  { database, drifts, adapters, clock, onMembershipDue }: CheckDriftDeps,
  install: string,
): Promise<void> {
  const now = toInstant(clock.now());
  const ids = (await drifts.unconfirmed(install, now))
    .filter(({ tool }) => adapters.get(tool)?.listMembers === undefined)
    .slice(0, maxChanges)
    .map(({ id }) => id);
  if (ids.length === 0) return;
  await inTransaction(database, (tx) => drifts.lookToConfirm(tx, ids, now));
  onMembershipDue();
}

/** Those that the configuration leads to: an install never acts, or looks, outside of its walls. */
async function findGroups(
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
  const { adapters, metrics, clock } = deps;
  const { tool, groupId } = group;
  const adapter = adapters.get(tool);
  if (adapter?.listMembers === undefined) return true;
  const list: ListMembers = adapter.listMembers.bind(adapter);
  const listedAt = instantIn(clock, -clockMarginMs);
  let members: Member[];
  try {
    const limits = { timeoutMs: listingTimeoutMs, maxMembers };
    members = await readGroup(list, groupId, limits, signal);
  } catch (thrown) {
    if (signal.aborted) return false;
    return reportFailure(deps, group, toAppError(thrown));
  }
  metrics.listings.inc({ tool, outcome: 'listed' });
  const drift = await judgeAndWrite(deps, group, members, listedAt);
  deps.report(group, { ...drift, followsAddresses: adapter.updateEmail !== undefined });
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

async function judgeAndWrite(
  deps: CheckDriftDeps,
  group: Group,
  members: Member[],
  listedAt: string,
): Promise<Omit<GroupDrift, 'followsAddresses'>> {
  const { database, drifts, evidence } = deps;
  const accounts = members.map((member) => toAccount(deps, group.tool, member));
  const judge = async (db: Transaction) => {
    const known = await drifts.membersOf(db, group, listedAt);
    return { verdicts: judgeDrift(known, accounts), ...judgeUnconfirmed(known, accounts) };
  };
  const listed = members.length;
  const nothing = { listed, lookedAt: 0, removedAgain: [], vanishing: [] };
  // Mostly there is nothing to write, and so nobody has to wait for a large group to be judged.
  const { verdicts, stillIn, confirmed } = await judge(database.kysely);
  if (!verdicts.some(isToWrite) && stillIn.length + confirmed.length === 0) {
    return { verdicts, ...nothing };
  }
  return await inTransaction(database, async (tx) => {
    await evidence.lock(tx);
    const current = await judge(tx);
    const removedAgain = await removeAgain(deps, tx, current.verdicts);
    await drifts.confirm(tx, current.confirmed, toInstant(deps.clock.now()));
    const looked = await lookAgain(deps, tx, current);
    return { listed, removedAgain, ...looked, verdicts: current.verdicts };
  });
}

function isToWrite({ kind }: Verdict): boolean {
  return kind !== 'stranger' && kind !== 'leak';
}

async function lookAgain(
  { drifts, clock }: CheckDriftDeps,
  tx: Transaction,
  { verdicts, stillIn }: { verdicts: Verdict[]; stillIn: number[] },
): Promise<Pick<GroupDrift, 'lookedAt' | 'vanishing'>> {
  const missing = idsOf(verdicts, 'missing');
  const arrivals = await drifts.arrivalsOf(tx, missing);
  const returns = missing.map((membershipId) => ({
    ...{ membershipId, ...judgeReturn(arrivals.get(membershipId) ?? [], clock.now()) },
  }));
  const due = returns.filter(({ isDue }) => isDue).map(toId);
  const undecided = await drifts.undecided(tx, stillIn);
  const ids = [
    ...[...due, ...idsOf(verdicts, 'address_changed'), ...idsOf(verdicts, 'id_changed')],
    ...stillIn.filter((id) => !undecided.has(id)),
  ];
  await drifts.lookAgain(tx, ids, toInstant(clock.now()));
  const vanishing = returns.filter(({ timesAddedBack }) => timesAddedBack > 0);
  return { lookedAt: ids.length, vanishing };
}

/** @returns the memberships; not those for which there may be a reason that is not known yet */
async function removeAgain(
  { drifts, graceMs, clock }: CheckDriftDeps,
  tx: Transaction,
  verdicts: Verdict[],
): Promise<number[]> {
  const found = verdicts.filter((verdict) => verdict.kind === 'found_again').slice(0, maxChanges);
  const undecided = await drifts.undecided(tx, found.map(toId));
  const decided = found.filter((one) => !undecided.has(toId(one)));
  const removeAfter = instantIn(clock, graceMs);
  for (const { membershipId, memberId } of decided) {
    await drifts.removeAgain(tx, { membershipId, memberId, removeAfter }, toInstant(clock.now()));
  }
  return decided.map(toId);
}

function toId({ membershipId }: { membershipId: number }): number {
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
