import type { Transaction } from '../db/database.ts';
import { inParts, keyIn, onSame } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import { statusOfContract } from '../domain/evidence-status.ts';
import type { RoutedLink } from '../domain/install.ts';
import type { ScopeReadings } from '../domain/required-readings.ts';
import type { DueMembership } from './brake-store.ts';

// The SQL of final readings: before a removal, the scopes where the trainer may have worked are read. The receipt names
// those that could not be read, and why.

/** A contract's work may still be saved for this long after its end. */
const lateSavingMs = 24 * 60 * 60_000;

/** The scope in which work on a link's project is counted; undefined if it cannot be read. */
export type ToolScopeOf = (link: RoutedLink) => ToolScope | undefined;

export interface ToolScope {
  install: string;
  tool: string;
  scope: string;
}

/** Requests a new reading of these scopes. */
export type WantScopes = (tx: Transaction, scopes: readonly ToolScope[], now: string) => Promise<void>;

/**
 * By membership: the scopes where the trainer may have worked, by every contract that was a reason for it. Leaves out
 * scopes that were read after all possible work.
 */
export async function findScopes(
  tx: Transaction,
  due: readonly Pick<DueMembership, 'membershipId' | 'tool'>[],
  reasons: ReadonlyMap<number, (Row<'contract'> & RoutedLink)[]>,
  scopeOf: ToolScopeOf,
): Promise<Map<number, ToolScope[]>> {
  const worked = due.flatMap(({ membershipId: id, tool }) =>
    (reasons.get(id) ?? []).flatMap((contract) => {
      const at = scopeOf(contract);
      return at?.tool === tool ? [{ id, contract, at }] : [];
    }),
  );
  const readAt = new Map<string, string | null>();
  for (const part of inParts(distinctScopes(worked.map(({ at }) => at)))) {
    const rows = tx.selectFrom('usageScope').select(['tool', 'scope', 'readBeganAt']);
    for (const row of await rows.where(keyIn(['tool', 'scope'], part)).execute()) {
      readAt.set(scopeKey(row), row.readBeganAt);
    }
  }
  const open = worked.filter(({ contract, at }) => !wasReadToTheEnd(contract, readAt.get(scopeKey(at)) ?? null));
  return new Map(
    [...Map.groupBy(open, ({ id }) => id)].map(([id, its]) => [id, distinctScopes(its.map(({ at }) => at))]),
  );
}

function distinctScopes(scopes: readonly ToolScope[]): ToolScope[] {
  return [...new Map(scopes.map((one) => [scopeKey(one), one])).values()];
}

function scopeKey({ tool, scope }: Omit<ToolScope, 'install'>): string {
  return JSON.stringify([tool, scope]);
}

function wasReadToTheEnd(contract: Row<'contract'>, readBeganAt: string | null): boolean {
  if (statusOfContract(contract) !== 'ended') return false;
  const endedAt = [contract.endedEventAt, contract.endDate]
    .flatMap((at) => at ?? [])
    .sort()
    .at(-1);
  return endedAt !== undefined && Date.parse(readBeganAt ?? '') >= Date.parse(endedAt) + lateSavingMs;
}

export async function loadAwaitedScopes(tx: Transaction, membershipIds: readonly number[]) {
  return await tx
    .selectFrom('awaitedScope')
    .leftJoin('usageScope', onSame('usageScope', 'awaitedScope', ['tool', 'scope']))
    .select(['awaitedScope.membershipId', 'awaitedScope.scope'])
    .select(['usageScope.readBeganAt', 'usageScope.refusedAt', 'usageScope.failure'])
    .where('awaitedScope.membershipId', 'in', membershipIds)
    .orderBy('awaitedScope.scope')
    .execute();
}

export function toUnread({ scope }: ToolScope): ScopeReadings {
  return { scope, readBeganAt: null, refusedAt: null };
}

/** Requests the readings that these removals wait for. */
export async function awaitWork(
  tx: Transaction,
  waiting: readonly { due: { membershipId: number }; newScopes: readonly ToolScope[] }[],
  now: string,
  wantScopes: WantScopes,
): Promise<void> {
  if (waiting.length === 0) return;
  const ids = waiting.map(({ due: { membershipId } }) => membershipId);
  await tx
    .updateTable('awaitedReading')
    .set({ reportedAt: null, reportAfter: null })
    .where('membershipId', 'in', ids)
    .execute();
  await tx.deleteFrom('awaitedScope').where('membershipId', 'in', ids).execute();
  const rows = waiting.flatMap(({ due: { membershipId }, newScopes }) =>
    newScopes.map(({ tool, scope }) => ({ membershipId, tool, scope })),
  );
  for (const part of inParts(rows)) await tx.insertInto('awaitedScope').values(part).execute();
  await wantScopes(tx, distinctScopes(waiting.flatMap(({ newScopes }) => newScopes)), now);
}

/** Records that the work read before a removal was reported, or when to report it. */
export async function noteReported(
  tx: Transaction,
  { membershipId, generation }: { membershipId: number; generation: number },
  changes: { reportedAt: string } | { reportAfter: string },
): Promise<void> {
  await tx
    .updateTable('awaitedReading')
    .set(changes)
    .where((eb) => eb.and({ membershipId, generation }))
    .execute();
}

/**
 * Explains in the receipt why work may be missing; null if all of it was read.
 *
 * @param foundId the account that was removed
 */
export async function describeUnreadWork(
  tx: Transaction,
  { id, generation, memberId }: Pick<Row<'membership'>, 'id' | 'generation' | 'memberId'>,
  foundId: string | undefined,
): Promise<string | null> {
  const reading = await tx
    .selectFrom('awaitedReading')
    .select('workSince')
    .where((eb) => eb.and({ membershipId: id, generation }))
    .executeTakeFirst();
  if (!reading?.workSince) return null;
  const { workSince: since } = reading;
  const scopes = await loadAwaitedScopes(tx, [id]);
  // A scope may have been read after the wait ended.
  const left = scopes.filter(({ readBeganAt }) => readBeganAt === null || readBeganAt < since);
  if (left.length > 0) {
    const where = left.map(({ scope, failure }) => `${scope} (${failure ?? 'not answered yet'})`);
    return `Gangway could not read the trainer's work before the removal, since ${since}, in ${where.join(', ')}. The last work may not be reported`;
  }
  // An account that was found only now was unknown to the last reading.
  if (foundId === undefined || foundId === memberId) return null;
  return 'The account was first seen after the last reading of work. Its work may not be reported';
}
