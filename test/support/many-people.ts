import { emptyContract, emptyLink, toPair } from '../../src/domain/evidence.ts';
import { toInstant } from '../../src/lib/clock.ts';
import type { Engine } from './engine-harness.ts';

interface Many {
  contracts: string[];
  trainers: string[];
  install?: string;
  link?: string;
  project?: string;
}

const rowsAtOnce = 1000;

/**
 * Has all of these people on all of these contracts, all of one link, beyond the bounds of what is taken in. Nothing is
 * derived.
 */
export async function addPeople(
  { database: { kysely }, clock }: Engine,
  { contracts, trainers, install = 'acme', link = 'cml1', project = 'street-signs' }: Many,
): Promise<void> {
  const at = toInstant(clock.now());
  const linkRow = { ...emptyLink(install, link), seenAt: at, externalProjectId: project };
  await kysely
    .insertInto('link')
    .values({ ...linkRow, provisioningMode: 'PARTNER_WEBHOOK' })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const participations = contracts.flatMap((contractId) =>
    trainers.map((trainerId) => ({ install, contractId, trainerId, seenAt: at, absences: null })),
  );
  await inChunks(contracts, async (ids) => {
    const rows = ids.map((id) => ({ ...emptyContract(install, id), startedEventAt: at }));
    await kysely.insertInto('contract').values(rows).execute();
    const pairs = ids.map((contractId) => toPair(install, contractId, link, at));
    await kysely.insertInto('contractLink').values(pairs).execute();
  });
  await inChunks(participations, async (rows) => {
    await kysely.insertInto('participation').values(rows).execute();
  });
}

async function inChunks<T>(all: T[], insert: (chunk: T[]) => Promise<void>): Promise<void> {
  for (let begin = 0; begin < all.length; begin += rowsAtOnce) {
    await insert(all.slice(begin, begin + rowsAtOnce));
  }
}
