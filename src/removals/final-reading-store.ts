import type { Transaction } from '../db/database.ts';
import { onSame } from '../db/on-same.ts';
import { statusOfContract } from '../domain/evidence-status.ts';
import { toInstant } from '../lib/clock.ts';
import type { RoutedLink } from '../memberships/wall.ts';
import type { DueMembership } from './brake-store.ts';

/**
 * The SQL of waiting for the work of somebody to be read before they are taken out. A removal that is
 * due waits until a reading that began after that has ended, of every place where they may have
 * worked and of no other, and for five minutes at most, or until what is left refuses to be read: then
 * access falls anyway, and its receipt says which could not be read, and why.
 */
export interface FinalReadingStore {
  /** @returns which of those that are due need not wait (any longer) */
  mayPass(tx: Transaction, due: readonly DueMembership[], now: Date): Promise<ReadonlySet<number>>;
}

const longestWaitMs = 5 * 60_000;
/** What is saved so long after the end of a contract counts for it. */
const lateSavingMs = 24 * 60 * 60_000;

/** Where the work on a link's project is counted; undefined where nobody can read it. */
export type WorkPlaceOf = (link: RoutedLink) => WorkPlace | undefined;

interface WorkPlace {
  tool: string;
  scope: string;
}

export interface FinalReadingRules {
  placeOf: WorkPlaceOf;
  /** Has all of these read anew. */
  wantRead(tx: Transaction, places: readonly WorkPlace[], now: string): Promise<void>;
}

export function createFinalReadingStore(rules: FinalReadingRules): FinalReadingStore {
  return {
    async mayPass(tx, due, now) {
      const passing = new Set<number>();
      for (const one of due) {
        if (await hasWaited(tx, rules, one, now)) passing.add(one.membershipId);
      }
      return passing;
    },
  };
}

async function hasWaited(
  tx: Transaction,
  { placeOf, wantRead }: FinalReadingRules,
  due: DueMembership,
  now: Date,
): Promise<boolean> {
  const { membershipId, generation } = due;
  const waiting = await tx
    .selectFrom('finalReading')
    .select('wantedAt')
    .where('membershipId', '=', membershipId)
    .where('generation', '=', generation)
    .executeTakeFirst();
  const awaited = waiting === undefined ? [] : await awaitedPlaces(tx, membershipId);
  // A version before this one did not write down which places it waits for.
  if (waiting === undefined || awaited.length === 0) {
    const places = await placesOf(tx, placeOf, due);
    if (places.length === 0) return true;
    await wantReading(tx, wantRead, due, places, toInstant(now));
    return false;
  }
  if (awaited.every((place) => wasRead(place, waiting.wantedAt))) return true;
  const hasTime = now.getTime() - Date.parse(waiting.wantedAt) < longestWaitMs;
  const isRefused = awaited.every((place) => wasRead(place, waiting.wantedAt) || wasRefused(place, waiting.wantedAt));
  if (hasTime && !isRefused) return false;
  await tx.updateTable('finalReading').set({ isUnread: 1 }).where('membershipId', '=', membershipId).execute();
  return true;
}

async function wantReading(
  tx: Transaction,
  wantRead: FinalReadingRules['wantRead'],
  { membershipId, generation }: DueMembership,
  places: readonly WorkPlace[],
  wantedAt: string,
): Promise<void> {
  const again = { generation, wantedAt, isUnread: 0, reportedAt: null, reportAfter: null };
  await tx
    .insertInto('finalReading')
    .values({ membershipId, ...again })
    .onConflict((conflict) => conflict.column('membershipId').doUpdateSet(again))
    .execute();
  await tx.deleteFrom('finalReadingPlace').where('membershipId', '=', membershipId).execute();
  const keys = places.map(({ tool, scope }) => ({ tool, scope }));
  await tx
    .insertInto('finalReadingPlace')
    .values(keys.map((key) => ({ membershipId, ...key })))
    .execute();
  await wantRead(tx, keys, wantedAt);
}

/** What was read before a removal was reported, or is to be reported later. */
export async function noteReported(
  tx: Transaction,
  { membershipId, generation }: { membershipId: number; generation: number },
  changes: { reportedAt: string } | { reportAfter: string },
): Promise<void> {
  await tx
    .updateTable('finalReading')
    .set(changes)
    .where((eb) => eb.and({ membershipId, generation }))
    .execute();
}

/** Who was taken out, as they were known when that was claimed. */
interface TakenOut {
  id: number;
  generation: number;
  memberId: string | null;
}

/**
 * What is to be said with a removal before which nobody could read the work; or null.
 *
 * @param foundId the account that was taken out
 */
export async function unreadNote(
  tx: Transaction,
  { id, generation, memberId }: TakenOut,
  foundId: string | undefined,
): Promise<string | null> {
  const reading = await tx
    .selectFrom('finalReading')
    .select(['wantedAt', 'isUnread'])
    .where((eb) => eb.and({ membershipId: id, generation }))
    .executeTakeFirst();
  if (reading === undefined) return null;
  const { wantedAt, isUnread } = reading;
  if (isUnread === 1) {
    const left = (await awaitedPlaces(tx, id)).filter((place) => !wasRead(place, wantedAt));
    const where = left.map(({ scope, failure }) => `${scope} (${failure ?? 'not answered yet'})`);
    return `Their work could not be read before, from ${wantedAt} on, in ${where.join(', ')}: what they did last may not be reported`;
  }
  // The last reading knew nothing of an account that is found only now.
  if (foundId === undefined || foundId === memberId) return null;
  return 'Their account was first seen after the last reading of work: what they did in it may not be reported';
}

interface AwaitedPlace {
  scope: string;
  readBeganAt: string | null;
  refusedAt: string | null;
  failure: string | null;
}

async function awaitedPlaces(tx: Transaction, membershipId: number): Promise<AwaitedPlace[]> {
  return await tx
    .selectFrom('finalReadingPlace')
    .leftJoin('usagePlace', onSame('usagePlace', 'finalReadingPlace', ['tool', 'scope']))
    .select(['finalReadingPlace.scope', 'usagePlace.readBeganAt'])
    .select(['usagePlace.refusedAt', 'usagePlace.failure'])
    .where('finalReadingPlace.membershipId', '=', membershipId)
    .orderBy('finalReadingPlace.scope')
    .execute();
}

function wasRead({ readBeganAt }: AwaitedPlace, since: string): boolean {
  return readBeganAt !== null && readBeganAt >= since;
}

/** Whether waiting for it is of no use. */
function wasRefused({ refusedAt }: AwaitedPlace, since: string): boolean {
  return refusedAt !== null && refusedAt >= since;
}

/**
 * Where they may have worked: by every contract that ever gave them this membership, but for what
 * was read when nothing could count for it any more.
 */
async function placesOf(
  tx: Transaction,
  placeOf: WorkPlaceOf,
  { membershipId, tool }: DueMembership,
): Promise<WorkPlace[]> {
  const reasons = await tx
    .selectFrom('reason')
    .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .innerJoin('contract', onSame('contract', 'reason', ['install', 'contractId']))
    .selectAll('contract')
    .select(['link.externalProjectId', 'link.externalProjectName'])
    .where('reason.membershipId', '=', membershipId)
    .execute();
  const places = new Map<string, WorkPlace>();
  for (const reason of reasons) {
    const place = placeOf(reason);
    if (place?.tool !== tool) continue;
    const { scope } = place;
    if (!(await wasReadToTheEnd(tx, { tool, scope }, reason))) places.set(scope, { tool, scope });
  }
  return [...places.values()];
}

async function wasReadToTheEnd(
  tx: Transaction,
  { tool, scope }: WorkPlace,
  contract: Parameters<typeof statusOfContract>[0] & { endDate: string | null },
): Promise<boolean> {
  if (statusOfContract(contract) !== 'ended') return false;
  const [endedAt] = [contract.endedEventAt, contract.endDate]
    .flatMap((at) => at ?? [])
    .sort()
    .reverse();
  if (endedAt === undefined) return false;
  const row = await tx
    .selectFrom('usagePlace')
    .select('readBeganAt')
    .where((eb) => eb.and({ tool, scope }))
    .executeTakeFirst();
  const readAt = Date.parse(row?.readBeganAt ?? '');
  return readAt >= Date.parse(endedAt) + lateSavingMs;
}
