import type { Context } from '../../context.ts';
import { addReceipt } from '../../converge/receipt-store.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { type AppError, concernsAll, toAppError } from '../../domain/errors.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { maskText } from '../../lib/mask.ts';
import { remembered } from '../../lib/remembered.ts';
import { lockEvidence } from '../../memberships/derivation-store.ts';
import {
  doubtAccounts,
  findUnconfirmed,
  lookAtMemberships,
  lookToConfirm,
  noteConfirmed,
  removeAgain,
  resumeRemovals,
} from '../../memberships/look-store.ts';
import { type Group, groupKeyOf, undecidedAmong } from './drift-store.ts';
import { type Finding, type KeptListing, keepFindingGroups, keepFindings } from './finding-store.ts';
import type { DriftVerdict } from './judge-drift.ts';
import {
  findGroups,
  type GroupVerdicts,
  idsOf,
  judgeFoundAgain,
  judgeGroup,
  judgeMissing,
  type ListedGroup,
  listGroup,
  maxChanges,
  membershipIdOf,
} from './judge-group.ts';
import { type GroupDrift, reportDrift } from './report-drift.ts';

/** A run ends after this time; the groups that are left come first in the next run. */
const runMs = 5 * 60_000;
/** A group that no install has listed for this long is no longer shown. */
const keptUnlistedMs = 30 * 24 * 3_600_000;
/** Several installs may share a group; reading them one after the other lists it once. */
const listedAgainAfterMs = 60_000;

/**
 * Compares the listed members of an install's groups with the known memberships, and never throws.
 *
 * Drift (docs/rules.md, Reconciling): a missing member is looked at and added back, a member that
 * Gangway had removed is removed again, everything else is reported. A failed listing changes
 * nothing, and an empty one only makes looks due: absence from a listing is never a reason to remove.
 */
export async function checkDrift(ctx: Context, install: string, signal: AbortSignal): Promise<void> {
  try {
    await checkGroups(ctx, install, signal);
  } catch (error) {
    if (signal.aborted) return;
    ctx.logger.error({ install, err: toAppError(error) }, 'The groups of an install were not compared');
  }
}

async function checkGroups(ctx: Context, install: string, signal: AbortSignal): Promise<void> {
  const { clock } = ctx;
  /** When each group was last tried. */
  const triedAt = remembered(ctx.database, 'groups tried', () => new Map<string, number>());
  const endsAt = clock.now().getTime() + runMs;
  const lastTried = (group: Group) => triedAt.get(groupKeyOf(group)) ?? 0;
  const isDue = (group: Group) =>
    // The absolute value, so that a clock that was ahead and is right again delays no group.
    Math.abs(clock.now().getTime() - lastTried(group)) >= listedAgainAfterMs;
  const all = await findGroups(ctx, install);
  const groups = all.filter(isDue).sort((a, b) => lastTried(a) - lastTried(b));
  await lookAtUnlisted(ctx, install);
  await keepFindingGroups(ctx, install, all, instantIn(clock, -keptUnlistedMs));
  const silent = new Set<string>();
  for (const group of groups) {
    if (signal.aborted || clock.now().getTime() > endsAt) return;
    if (silent.has(group.tool)) continue;
    triedAt.set(groupKeyOf(group), clock.now().getTime());
    const isAnswered = await checkGroup(ctx, install, group, signal);
    if (!isAnswered) silent.add(group.tool);
  }
}

/** A tool without a list needs a look for each membership that waits for confirmation. */
async function lookAtUnlisted({ database, adapters, clock, wake }: Context, install: string): Promise<void> {
  const now = toInstant(clock.now());
  const ids = (await findUnconfirmed(database.kysely, install, now))
    .filter(({ tool }) => adapters.get(tool)?.listMembers === undefined)
    .slice(0, maxChanges)
    .map(({ id }) => id);
  if (ids.length === 0) return;
  await inTransaction(database, (tx) => lookToConfirm(tx, ids, now));
  wake('memberships');
}

/** @returns false if the tool should not be asked for another group now */
async function checkGroup(ctx: Context, install: string, group: Group, signal: AbortSignal): Promise<boolean> {
  const { adapters, metrics } = ctx;
  const { tool } = group;
  let listing: ListedGroup | null;
  try {
    listing = await listGroup(ctx, group, signal);
  } catch (thrown) {
    if (signal.aborted) return false;
    return reportFailure(ctx, group, toAppError(thrown));
  }
  if (listing === null) return true;
  metrics.listings.inc({ tool, outcome: 'listed' });
  const drift = await judgeAndWrite(ctx, group, listing);
  const followsAddresses = adapters.get(tool)?.updateEmail !== undefined;
  reportDrift(ctx, group, { ...drift, followsAddresses });
  if (drift.lookedAt > 0) ctx.wake('memberships');
  await keepFindings(ctx, group, toKept(install, listing, drift.verdicts));
  return true;
}

/** Accounts that belong to no known trainer come last, because there may be too many of them to keep. */
function toKept(install: string, { members, listedAt }: ListedGroup, verdicts: readonly DriftVerdict[]): KeptListing {
  const accounts = new Map(members.map((member) => [member.id, member]));
  const findings = verdicts.map((verdict): Finding => {
    const { kind } = verdict;
    if ('membershipId' in verdict) return { kind, membershipId: verdict.membershipId, account: null };
    const { id, email = null, name = null } = accounts.get(verdict.memberId) ?? { id: verdict.memberId };
    return { kind, membershipId: null, account: { id, email, name } };
  });
  const order = (one: Finding) => (one.membershipId === null ? 1 : 0);
  return { install, listedAt, listed: members.length, findings: findings.toSorted((a, b) => order(a) - order(b)) };
}

function reportFailure({ metrics, logger }: Context, { tool, groupId }: Group, error: AppError): boolean {
  metrics.listings.inc({ tool, outcome: 'failed' });
  const message = maskText(error.message).slice(0, 300);
  logger.warn(
    { tool, group: groupId, errorCode: error.code, message },
    'The members of a group could not be listed, so no membership is changed',
  );
  return !concernsAll(error);
}

async function judgeAndWrite(
  ctx: Context,
  group: Group,
  listing: ListedGroup,
): Promise<Omit<GroupDrift, 'followsAddresses'>> {
  const { database } = ctx;
  const judge = (db: Transaction) => judgeGroup(ctx, db, group, listing);
  const listed = listing.members.length;
  const nothing = { listed, lookedAt: 0, removedAgain: [], vanishing: [] };
  // Usually there is nothing to write, and then the comparison holds no lock.
  const { verdicts, stillIn, confirmed } = await judge(database.kysely);
  if (!verdicts.some(isToWrite) && stillIn.length + confirmed.length === 0) {
    return { verdicts, ...nothing };
  }
  return await inTransaction(database, async (tx) => {
    await lockEvidence(ctx, tx);
    const current = await judge(tx);
    const removedAgain = await removeFoundAgain(ctx, tx, current.verdicts);
    await noteConfirmed(tx, current.confirmed, toInstant(ctx.clock.now()));
    const looked = await lookAtChanged(ctx, tx, current);
    return { listed, removedAgain, ...looked, verdicts: current.verdicts };
  });
}

function isToWrite({ kind }: DriftVerdict): boolean {
  return kind !== 'stranger' && kind !== 'leak';
}

async function lookAtChanged(
  ctx: Context,
  tx: Transaction,
  { verdicts, stillIn }: GroupVerdicts,
): Promise<Pick<GroupDrift, 'lookedAt' | 'vanishing'>> {
  const { clock } = ctx;
  const returns = await judgeMissing(ctx, tx, verdicts);
  const due = returns.filter(({ isDue }) => isDue).map(membershipIdOf);
  const undecided = await undecidedAmong(tx, stillIn);
  const ids = [...due, ...idsOf(verdicts, 'address_changed'), ...idsOf(verdicts, 'id_changed')];
  await lookAtMemberships(tx, ids, toInstant(clock.now()));
  const ofUnknownAddress = verdicts.filter((verdict) => verdict.kind === 'address_changed' && !verdict.isKnown);
  await doubtAccounts(tx, idsOf(ofUnknownAddress, 'address_changed'));
  const toResume = stillIn.filter((id) => !undecided.has(id));
  await resumeRemovals(tx, toResume, toInstant(clock.now()));
  const vanishing = returns.filter(({ timesAddedBack }) => timesAddedBack > 0);
  return { lookedAt: ids.length + toResume.length, vanishing };
}

/** @returns the memberships */
async function removeFoundAgain(ctx: Context, tx: Transaction, verdicts: DriftVerdict[]): Promise<number[]> {
  const { config, clock } = ctx;
  const decided = await judgeFoundAgain(tx, verdicts);
  const removeAfter = instantIn(clock, config.removals.graceMs);
  const createdAt = toInstant(clock.now());
  for (const { membershipId, memberId } of decided) {
    const generation = await removeAgain(tx, { membershipId, memberId, removeAfter }, createdAt);
    if (generation === undefined) continue;
    // The receipt records that they are in again.
    const message = 'A list of the tool shows them again';
    await addReceipt(tx, {
      membershipId,
      generation,
      operation: 'remove',
      outcome: 'already_member',
      message,
      createdAt,
    });
  }
  return decided.map(membershipIdOf);
}
