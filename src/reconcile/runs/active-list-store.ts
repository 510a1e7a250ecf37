import type { Context, Storage } from '../../context.ts';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { inParts, onSame } from '../../db/query.ts';
import { jobOf } from '../../jobs/job.ts';
import { addJobs } from '../../jobs/job-store.ts';
import { lockForReading, type Reading } from '../read/install-state-store.ts';

// The SQL of the lists of active contracts that removals wait for.

/** Records that every contract of such a list is evidence now, whichever process listed it. */
export async function noteListed(ctx: Context, { install, beganAt }: Reading): Promise<void> {
  const listed = { activeListedAt: beganAt };
  await inTransaction(ctx.database, async (tx) => {
    await lockForReading(ctx, tx, { install, beganAt });
    await tx
      .insertInto('installState')
      .values({ install, ...listed })
      .onConflict((conflict) =>
        conflict
          .column('install')
          .doUpdateSet(listed)
          .where((eb) =>
            eb.or([eb('installState.activeListedAt', 'is', null), eb('installState.activeListedAt', '<', beganAt)]),
          ),
      )
      .execute();
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
  const { read, staffed } = await loadPeopleState(ctx.database, install, contractIds);
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

/** A list that is wanted already serves all removals that begin to wait before it begins. */
export async function wantLists(tx: Transaction, installs: readonly string[], now: string): Promise<void> {
  await addJobs(tx, 'active list', installs.map(jobOf), now);
}

/** Of these contracts, those whose participants were read, and those with a trainer who is known. */
async function loadPeopleState({ kysely }: Database, install: string, contractIds: readonly string[]) {
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
