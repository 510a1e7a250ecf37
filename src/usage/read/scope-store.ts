import { randomUUID } from 'node:crypto';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { claimRows, isFree } from '../../db/lease.ts';
import { inParts, jsonTexts } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import { type Counts, noCounts } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import { turnsOf } from '../../lib/turns.ts';
import { scopeKey } from './find-scopes.ts';
import type { Totals } from './merge-work.ts';
import { noTrouble, type ScopeTrouble } from './scope-trouble.ts';

// The only SQL about which scopes are due and how far they were read.

export interface ScopeKey {
  tool: string;
  scope: string;
}

export interface WantedScope extends ScopeKey {
  /** The install whose turn the reading takes. */
  install: string;
}

type KnownScope = Pick<
  Row<'usageScope'>,
  'tool' | 'scope' | 'install' | 'attempts' | 'readBeganAt' | 'completeBeganAt' | 'gapSince'
>;

export interface ScopeClaim extends KnownScope, ScopeTrouble {
  token: string;
  /** When the reading was asked for. A later request is not met by it. */
  wantedAt: string;
}

/** Adds scopes that are new, which are due at once, and their groups. Writes nothing else: it runs every minute. */
export async function keepScopes(
  { database }: Storage,
  scopes: readonly (WantedScope & { groupIds: readonly string[] })[],
  now: string,
): Promise<void> {
  const { kysely } = database;
  const known = new Set((await kysely.selectFrom('usageScope').select(['tool', 'scope']).execute()).map(scopeKey));
  const knownGroups = new Set((await kysely.selectFrom('usageScopeGroup').selectAll().execute()).map(groupKey));
  const added = scopes.filter((one) => !known.has(scopeKey(one)));
  const groups = scopes
    .flatMap(({ tool, scope, groupIds }) => groupIds.map((groupId) => ({ tool, groupId, scope })))
    .filter((one) => !knownGroups.has(groupKey(one)));
  if (added.length + groups.length === 0) return;
  await inTransaction(database, async (tx) => {
    await wantScopes(tx, added, now);
    for (const part of inParts(groups)) {
      const insert = tx.insertInto('usageScopeGroup').values(part);
      await insert.onConflict((conflict) => conflict.doNothing()).execute();
    }
  });
}

function groupKey({ tool, groupId, scope }: Row<'usageScopeGroup'>): string {
  return JSON.stringify([tool, groupId, scope]);
}

/** How many scopes are due now: of one tool, or of all. @param dueSince only those that became due after this instant */
export async function countDueScopes(
  ctx: Storage,
  now: string,
  { tool, dueSince }: { tool?: string; dueSince?: string } = {},
): Promise<number> {
  let due = ctx.database.kysely
    .selectFrom('usageScope')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('nextReadAt', '<=', now);
  if (tool !== undefined) due = due.where('tool', '=', tool);
  if (dueSince !== undefined) due = due.where('nextReadAt', '>', dueSince);
  return (await due.executeTakeFirstOrThrow()).n;
}

/** Installs take turns. */
export function claimScope(ctx: Storage, now: string, leasedUntil: string, tool?: string): Promise<ScopeClaim | null> {
  return inTransaction(ctx.database, async (tx) => {
    const install = await nextInstall(ctx, tx, now, tool);
    if (install === undefined) return null;
    const next = dueScopes(tx, now, tool).selectAll().where('install', '=', install).orderBy('nextReadAt').limit(1);
    const row = await claimRows(ctx.database, next).executeTakeFirst();
    if (row === undefined) return null;
    const { nextReadAt, failure: _, leaseToken: __, leasedUntil: ___, gap: ____, ...workScope } = row;
    const token = randomUUID();
    await at(tx, workScope).set({ leaseToken: token, leasedUntil }).execute();
    return { ...workScope, token, wantedAt: nextReadAt ?? now };
  });
}

/** @param gap what the tool could not report; null where it reported everything */
export async function settleScope(
  ctx: Storage,
  claim: ScopeClaim,
  { beganAt, isComplete, gap }: { beganAt: string; isComplete: boolean; gap: string | null },
): Promise<void> {
  const done = {
    ...{ leaseToken: null, leasedUntil: null, attempts: 0, failure: null, ...noTrouble, gap, readBeganAt: beganAt },
    gapSince: gap === null ? null : (claim.gapSince ?? beganAt),
    completeBeganAt: isComplete ? beganAt : claim.completeBeganAt,
  };
  await inTransaction(ctx.database, async (tx) => {
    await at(tx, claim).set(done).where('leaseToken', '=', claim.token).execute();
    const met = at(tx, claim).where('nextReadAt', '<=', claim.wantedAt);
    await met.set({ nextReadAt: null }).execute();
  });
}

export async function postponeScope(
  ctx: Storage,
  claim: ScopeClaim,
  changes: { failure: string; nextReadAt: string } & Partial<ScopeTrouble>,
): Promise<void> {
  const failed = { leaseToken: null, leasedUntil: null, attempts: claim.attempts + 1, ...changes };
  await inTransaction(ctx.database, (tx) => at(tx, claim).set(failed).where('leaseToken', '=', claim.token).execute());
}

export function listScopes(ctx: Storage): Promise<Row<'usageScope'>[]> {
  return ctx.database.kysely.selectFrom('usageScope').selectAll().orderBy('tool').orderBy('scope').execute();
}

/** @returns undefined where nothing is due */
async function nextInstall(
  ctx: Storage,
  tx: Transaction,
  now: string,
  tool: string | undefined,
): Promise<string | undefined> {
  const rows = await dueScopes(tx, now, tool).select('install').distinct().execute();
  const turns = turnsOf(ctx.database, `usage ${tool ?? ''}`);
  const [install] = turns.inOrder(rows.map((row) => row.install));
  if (install !== undefined) turns.served(install);
  return install;
}

function at(tx: Transaction, { tool, scope }: ScopeKey) {
  return tx.updateTable('usageScope').where('tool', '=', tool).where('scope', '=', scope);
}

function dueScopes(tx: Transaction, now: string, tool: string | undefined) {
  const due = tx.selectFrom('usageScope').where('nextReadAt', '<=', now).where(isFree('usageScope', now));
  return tool === undefined ? due : due.where('tool', '=', tool);
}

/** Makes scopes due now, and adds those that are new. */
export async function wantScopes(tx: Transaction, scopes: readonly WantedScope[], now: string): Promise<void> {
  for (const part of inParts(scopes)) {
    const rows = part.map(({ tool, scope, install }) => ({ tool, scope, install, nextReadAt: now }));
    await tx
      .insertInto('usageScope')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['tool', 'scope']).doUpdateSet((eb) => ({
          install: eb.ref('excluded.install'),
          nextReadAt: now,
          attempts: 0,
        })),
      )
      .execute();
  }
}

/** A running total that is below what was counted. */
export interface FallenTotal extends ScopeKey {
  trainerId: string;
  since: string;
  /** How far it is below. */
  fallen: Counts;
}

/** Totals that are below what was counted while the trainer is in: of these trainers, or of all. */
export async function listFallenTotals(ctx: Storage, trainerIds?: readonly string[]): Promise<FallenTotal[]> {
  let all = ctx.database.kysely
    .selectFrom('usagePerson')
    .select(['tool', 'scope', 'trainerId', 'fallenSince', 'totals'])
    .where('fallenSince', 'is not', null)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('membership')
          .select('membership.id')
          .whereRef('membership.tool', '=', 'usagePerson.tool')
          .whereRef('membership.memberId', '=', 'usagePerson.memberId')
          .where('membership.wanted', '=', true),
      ),
    );
  if (trainerIds !== undefined) all = all.where('trainerId', 'in', jsonTexts(ctx.database, trainerIds));
  const rows = await all.orderBy('tool').orderBy('scope').orderBy('trainerId').execute();
  return rows.map(({ fallenSince, totals, ...of }) => {
    const { fallen = noCounts } = JSON.parse(totals ?? '{}') as Partial<Totals>;
    return { ...of, since: fallenSince ?? '', fallen };
  });
}
