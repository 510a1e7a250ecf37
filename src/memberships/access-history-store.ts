import type { Transaction } from '../db/database.ts';
import { onSame } from '../db/query.ts';
import { type Stretch, stretchesOf } from '../domain/access-history.ts';
import type { Instant } from '../domain/evidence.ts';
import { statusOfContract } from '../domain/evidence-status.ts';
import type { RemovalCause } from '../domain/standing.ts';
import { trainerName } from './membership-list-store.ts';

/** A time in which a trainer could get into a group, by receipts and reasons. */
export interface AccessStretch extends Omit<Stretch, 'removedBy'> {
  membershipId: number;
  /** The number of the stretch in its membership, from 1. */
  number: number;
  tool: string;
  groupId: string;
  trainerId: string;
  displayName: string | null;
  /** The contracts that gave a reason in that time. */
  contracts: { install: string; contractId: string }[];
  /** Why the trainer was removed; null if they were not, or if that is unrecords. */
  cause: RemovalCause | null;
}

export interface AccessPeriod {
  from: Instant;
  to: Instant;
  /** Only access by contracts of this install. */
  install?: string | undefined;
}

const membershipsAtOnce = 200;

/** By membership, oldest first. @param after the last stretch to leave out */
export async function listAccessHistory(
  db: Transaction,
  period: AccessPeriod,
  { after, limit }: { after?: Pick<AccessStretch, 'membershipId' | 'number'> | undefined; limit: number },
): Promise<AccessStretch[]> {
  const found: AccessStretch[] = [];
  for (let last = (after?.membershipId ?? 1) - 1; found.length < limit; ) {
    const rows = await pageMemberships(db, period, last);
    for (const one of await stretchesOfPage(db, period, rows)) {
      if (one.membershipId !== after?.membershipId || one.number > after.number) found.push(one);
    }
    const end = rows.at(-1);
    if (end === undefined || rows.length < membershipsAtOnce) break;
    last = end.id;
  }
  return found.slice(0, limit);
}

type Page = Awaited<ReturnType<typeof pageMemberships>>;

/** Leaves out those whose last removal was settled before the period. */
async function pageMemberships(db: Transaction, { install, from }: AccessPeriod, after: number) {
  const all = db
    .selectFrom('membership')
    .select(['id', 'tool', 'groupId', 'trainerId', 'state', 'updatedAt', 'lateUntil'])
    .select(trainerName)
    .where('id', '>', after)
    .where((eb) => eb.or([eb('state', '<>', 'removed'), eb('updatedAt', '>=', from)]))
    .orderBy('id')
    .limit(membershipsAtOnce);
  if (install === undefined) return await all.execute();
  const named = db.selectFrom('reason').select('membershipId').where('reason.install', '=', install);
  return await all.where('id', 'in', named).execute();
}

async function stretchesOfPage(db: Transaction, period: AccessPeriod, page: Page): Promise<AccessStretch[]> {
  if (page.length === 0) return [];
  const records = await loadRecords(
    db,
    page.map(({ id }) => id),
  );
  return page.flatMap(({ id, tool, groupId, trainerId, displayName, ...now }) =>
    stretchesOf(records.receipts.get(id) ?? [], records.calls.get(id) ?? [], now)
      .map((stretch, index) => ({ ...stretch, number: index + 1 }))
      .filter(({ from, until }) => (from ?? '') <= period.to && (until === null || until >= period.from))
      .map(({ removedBy, ...stretch }) => ({
        membershipId: id,
        tool,
        groupId,
        trainerId,
        displayName,
        ...stretch,
        contracts: contractsIn(stretch, records.reasons.get(id) ?? []),
        cause: records.removals.get(id)?.find(({ generation }) => generation === removedBy)?.cause ?? null,
      })),
  );
}

async function loadRecords(db: Transaction, ids: readonly number[]) {
  const receipts = db
    .selectFrom('receipt')
    .select(['membershipId', 'outcome', 'operation', 'generation', 'createdAt', 'metAfterMs'])
    .orderBy('id');
  const calls = db.selectFrom('intent').select(['membershipId', 'operation', 'wasFound', 'createdAt']).orderBy('id');
  const removals = db.selectFrom('removal').select(['membershipId', 'generation', 'cause']);
  const byMembership = <T extends { membershipId: number }>(rows: T[]) =>
    Map.groupBy(rows, ({ membershipId }) => membershipId);
  return {
    receipts: byMembership(await receipts.where('membershipId', 'in', ids).execute()),
    calls: byMembership(await calls.where('membershipId', 'in', ids).execute()),
    removals: byMembership(await removals.where('membershipId', 'in', ids).execute()),
    reasons: byMembership(await loadReasons(db, ids)),
  };
}

type ReasonRow = Awaited<ReturnType<typeof loadReasons>>[number];

async function loadReasons(db: Transaction, ids: readonly number[]) {
  return await db
    .selectFrom('reason')
    .innerJoin('contract', onSame('contract', 'reason', ['install', 'contractId']))
    .select([
      'membershipId',
      'reason.install',
      'reason.contractId',
      'recordedAt',
      'startedEventAt',
      'endedEventAt',
      'activeReadAt',
      'endedReadAt',
      'endedByOperatorAt',
      'reopenedAt',
    ])
    .where('membershipId', 'in', ids)
    .orderBy('reason.contractId')
    .execute();
}

/** Leaves out contracts that became a reason after the stretch, or had ended before it. */
function contractsIn({ from, until }: Pick<Stretch, 'from' | 'until'>, reasons: readonly ReasonRow[]) {
  const within = reasons.filter((reason) => {
    if (until !== null && reason.recordedAt > until) return false;
    if (from === null || statusOfContract(reason) !== 'ended') return true;
    const { endedEventAt, endedReadAt, endedByOperatorAt } = reason;
    return [endedEventAt, endedReadAt, endedByOperatorAt].some((at) => at !== null && at >= from);
  });
  const each = new Map(within.map(({ install, contractId }) => [`${install}/${contractId}`, { install, contractId }]));
  return [...each.values()];
}
