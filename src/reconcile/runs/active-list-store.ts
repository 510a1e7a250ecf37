import type { Storage } from '../../context.ts';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { inParts, onSame } from '../../db/query.ts';

// The SQL of the lists of active contracts that removals wait for. One at a time for each install.

export async function installsWithListsDue(ctx: Storage, now: string): Promise<string[]> {
  const rows = await ctx.database.kysely
    .selectFrom('installState')
    .select('install')
    .where('listWantedAt', 'is not', null)
    .where('listDueAt', '<=', now)
    .execute();
  return rows.map(({ install }) => install);
}

/** @returns since when the list is wanted; null if none is due, or if another process lists it */
export async function claimList(
  ctx: Storage,
  install: string,
  now: string,
  leasedUntil: string,
): Promise<string | null> {
  const claimed = await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('installState')
      .set({ listDueAt: leasedUntil })
      .where('install', '=', install)
      .where('listWantedAt', 'is not', null)
      .where('listDueAt', '<=', now)
      .returning('listWantedAt')
      .executeTakeFirst(),
  );
  return claimed?.listWantedAt ?? null;
}

export async function postponeList(ctx: Storage, install: string, listDueAt: string): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('installState')
      .set({ listDueAt })
      .where('install', '=', install)
      .where('listWantedAt', 'is not', null)
      .execute(),
  );
}

/** Withdraws the request, because no removal waits any more. */
export async function giveUpList(ctx: Storage, install: string): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('installState')
      .set({ listWantedAt: null, listDueAt: null })
      .where('install', '=', install)
      .execute(),
  );
}

/** Records that every contract of such a list is evidence now, whichever process listed it. */
export async function noteListed(ctx: Storage, install: string, beganAt: string): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    const state = tx.updateTable('installState').where('install', '=', install);
    await state
      .set({ activeListedAt: beganAt })
      .where((eb) => eb.or([eb('activeListedAt', 'is', null), eb('activeListedAt', '<', beganAt)]))
      .execute();
    // A removal that began to wait after this list began requests another one.
    await state.set({ listWantedAt: null, listDueAt: null }).where('listWantedAt', '<=', beganAt).execute();
  });
}

/**
 * The contracts without a known trainer, and then those whose participants were never read: an event names one
 * trainer of a contract, and the event of the next trainer may be lost.
 */
export async function findUnreadContracts(
  ctx: Storage,
  install: string,
  contractIds: readonly string[],
): Promise<string[]> {
  const { read, staffed } = await loadAsked(ctx.database, install, contractIds);
  const unread = contractIds.filter((id) => !read.has(id) || !staffed.has(id));
  return unread.sort((a, b) => Number(staffed.has(a)) - Number(staffed.has(b)));
}

/** Whether the project of each of these links is known. */
export async function knowsLinks(ctx: Storage, install: string, linkIds: readonly string[]): Promise<boolean> {
  let known = 0;
  for (const part of inParts(linkIds)) {
    const rows = await ctx.database.kysely
      .selectFrom('link')
      .select('linkId')
      .where('install', '=', install)
      .where('linkId', 'in', part)
      .where('externalProjectId', 'is not', null)
      .execute();
    known += rows.length;
  }
  return known === linkIds.length;
}

/** One that is wanted already serves all that come to wait for it before it begins. */
export async function wantLists(tx: Transaction, installs: readonly string[], now: string): Promise<void> {
  if (installs.length === 0) return;
  const wanted = { listWantedAt: now, listDueAt: now };
  await tx
    .insertInto('installState')
    .values(installs.map((install) => ({ install, ...wanted })))
    .onConflict((conflict) =>
      conflict.column('install').doUpdateSet(wanted).where('installState.listWantedAt', 'is', null),
    )
    .execute();
}

/** Of these contracts, those whose participants were read, and those with a trainer who is known. */
async function loadAsked({ kysely }: Database, install: string, contractIds: readonly string[]) {
  const [read, staffed] = [new Set<string>(), new Set<string>()];
  for (const part of inParts(contractIds)) {
    const rows = kysely
      .selectFrom('contract')
      .leftJoin('participation', onSame('participation', 'contract', ['install', 'contractId']))
      .select(['contract.contractId', 'participantsReadAt', 'trainerId'])
      .where('contract.install', '=', install)
      .where('contract.contractId', 'in', part);
    for (const { contractId, participantsReadAt, trainerId } of await rows.execute()) {
      if (participantsReadAt !== null) read.add(contractId);
      if (trainerId !== null) staffed.add(contractId);
    }
  }
  return { read, staffed };
}
