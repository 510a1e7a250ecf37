import { randomUUID } from 'node:crypto';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { inParts } from '../../db/key-in.ts';
import { claimRows, isFree } from '../../db/lease.ts';
import type { Row } from '../../db/schema.ts';
import type { Storage } from '../../keys/storage.ts';
import { turnsOf } from '../../lib/turns.ts';
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

export interface DueFilter {
  tool?: string;
  /** Only scopes that became due after this instant. */
  dueSince?: string;
}

export interface KeptScope extends WantedScope {
  /** The groups whose members work in the scope. */
  groupIds: readonly string[];
}

export interface DoneReading {
  beganAt: string;
  isComplete: boolean;
  /** What the tool could not report; null where it reported everything. */
  gap: string | null;
}

export interface ScopeClaim extends WantedScope, ScopeTrouble {
  token: string;
  /** When the reading was asked for. A later request is not met by it. */
  wantedAt: string;
  attempts: number;
  readBeganAt: string | null;
  completeBeganAt: string | null;
  /** Since when the tool cannot report something; null where the last reading had no gap. */
  gapSince: string | null;
}

/** Adds scopes that are new. They are due at once. */
export async function keepScopes(ctx: Storage, scopes: readonly KeptScope[], now: string): Promise<void> {
  const known = await ctx.database.kysely.selectFrom('usageScope').select(['tool', 'scope']).execute();
  const keys = new Set(known.map(keyOf));
  const added = scopes.filter((workScope) => !keys.has(keyOf(workScope)));
  await inTransaction(ctx.database, (tx) => wantScopes(tx, added, now));
  await keepGroups(ctx.database, scopes);
}

/** How many scopes are due now: of one tool, or of all. */
export async function countDueScopes(ctx: Storage, now: string, { tool, dueSince }: DueFilter = {}): Promise<number> {
  let due = ctx.database.kysely
    .selectFrom('usageScope')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('nextReadAt', '<=', now);
  if (tool !== undefined) due = due.where('tool', '=', tool);
  if (dueSince !== undefined) due = due.where('nextReadAt', '>', dueSince);
  return (await due.executeTakeFirstOrThrow()).n;
}

/** Whether a removal is due in a group whose scope is not known. */
export async function isScopeMissing(ctx: Storage, tool: string, now: string): Promise<boolean> {
  // A condition on the tool here would make SQLite scan all members of the tool.
  const due = ctx.database.kysely
    .selectFrom('membership')
    .select('tool')
    .distinct()
    .where('removeAfter', '<=', now)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('usageScopeGroup')
            .select('scope')
            .whereRef('usageScopeGroup.tool', '=', 'membership.tool')
            .whereRef('usageScopeGroup.groupId', '=', 'membership.groupId'),
        ),
      ),
    );
  return (await due.execute()).some((row) => row.tool === tool);
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

export async function settleScope(
  ctx: Storage,
  claim: ScopeClaim,
  { beganAt, isComplete, gap }: DoneReading,
): Promise<void> {
  const done = { leaseToken: null, leasedUntil: null, attempts: 0, failure: null };
  const found = {
    ...noTrouble,
    gap,
    gapSince: gap === null ? null : (claim.gapSince ?? beganAt),
  };
  const completeBeganAt = isComplete ? beganAt : claim.completeBeganAt;
  await inTransaction(ctx.database, async (tx) => {
    const held = at(tx, claim).where('leaseToken', '=', claim.token);
    await held.set({ ...done, ...found, readBeganAt: beganAt, completeBeganAt }).execute();
    const met = at(tx, claim).where('nextReadAt', '<=', claim.wantedAt);
    await met.set({ nextReadAt: null }).execute();
  });
}

export async function postponeScope(
  ctx: Storage,
  claim: ScopeClaim,
  { failure, nextReadAt, trouble }: { failure: string; nextReadAt: string; trouble: ScopeTrouble },
): Promise<void> {
  const { failingSince, goneSince, refusedAt, alertedAt } = trouble;
  const failed = {
    leaseToken: null,
    leasedUntil: null,
    failure,
    nextReadAt,
    failingSince,
    goneSince,
    refusedAt,
    alertedAt,
  };
  await inTransaction(ctx.database, (tx) =>
    at(tx, claim)
      .set({ ...failed, attempts: claim.attempts + 1 })
      .where('leaseToken', '=', claim.token)
      .execute(),
  );
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

function keyOf({ tool, scope }: ScopeKey): string {
  return JSON.stringify([tool, scope]);
}

/** Groups that are stored already are not written again: this runs every minute. */
async function keepGroups(database: Database, scopes: readonly KeptScope[]): Promise<void> {
  const stored = await database.kysely.selectFrom('usageScopeGroup').selectAll().execute();
  const toText = (row: { tool: string; groupId: string; scope: string }) =>
    JSON.stringify([row.tool, row.groupId, row.scope]);
  const known = new Set(stored.map(toText));
  const rows = scopes
    .flatMap(({ tool, scope, groupIds }) => groupIds.map((groupId) => ({ tool, groupId, scope })))
    .filter((row) => !known.has(toText(row)));
  for (const part of inParts(rows)) {
    await inTransaction(database, (tx) =>
      tx
        .insertInto('usageScopeGroup')
        .values(part)
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    );
  }
}
