import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { isMissed } from '../domain/absences.ts';
import { leftSince, statusOfContract, statusOfLink } from '../domain/evidence-status.ts';
import type { RunTrigger } from '../domain/run.ts';
import type { KnownContract, KnownInstall } from './read-install.ts';

/** The only SQL about reading whole installs: which are to be read, and what is known of them. */
export interface InstallStateStore {
  /** Has an install read soon. */
  wantRead(
    tx: Transaction,
    installs: readonly string[],
    now: string,
    trigger?: RunTrigger,
  ): Promise<void>;
  /** Has nothing older than `now` converged before the installs have been read. */
  hold(installs: string[], now: string): Promise<void>;
  hasDue(now: string): Promise<boolean>;
  /** @param only of this install; of any by default */
  claim(now: string, leasedUntil: string, only?: string): Promise<InstallClaim | null>;
  /** Ends what waited for a read that began then, and lets go of what was held. */
  settle(claim: InstallClaim, beganAt: string): Promise<void>;
  postpone(claim: InstallClaim, failure: string, nextAttemptAt: string): Promise<void>;
  known(install: string): Promise<KnownInstall>;
  find(install: string): Promise<InstallState | undefined>;
  list(): Promise<InstallState[]>;
}

export interface InstallClaim {
  install: string;
  readWantedAt: string;
  trigger: RunTrigger;
  attempts: number;
}

export interface InstallState {
  install: string;
  heldSince: string | null;
  readWantedAt: string | null;
  readBeganAt: string | null;
  attempts: number;
  failure: string | null;
}

export function createInstallStateStore(database: Database): InstallStateStore {
  const { kysely } = database;
  return {
    async wantRead(tx, installs, now, readWantedBy = 'event') {
      if (installs.length === 0) return;
      const again = { readWantedAt: now, readWantedBy, attempts: 0, nextAttemptAt: now };
      await tx
        .insertInto('installState')
        .values(installs.map((install) => ({ install, ...again })))
        .onConflict((conflict) => conflict.column('install').doUpdateSet(again))
        .execute();
    },

    async hold(installs, now) {
      if (installs.length === 0) return;
      const wanted = { readWantedAt: now, readWantedBy: 'silence', attempts: 0 } as const;
      const held = { ...wanted, heldSince: now, nextAttemptAt: now };
      await inTransaction(database, (tx) =>
        tx
          .insertInto('installState')
          .values(installs.map((install) => ({ install, ...held })))
          .onConflict((conflict) => conflict.column('install').doUpdateSet(held))
          .execute(),
      );
    },

    async hasDue(now) {
      const due = kysely
        .selectFrom('installState')
        .select('install')
        .where('nextAttemptAt', '<=', now);
      return (await due.limit(1).executeTakeFirst()) !== undefined;
    },

    async claim(now, leasedUntil, only) {
      return await inTransaction(database, async (tx) => {
        let due = tx
          .selectFrom('installState')
          .select(['install', 'readWantedAt', 'readWantedBy', 'attempts'])
          .where('nextAttemptAt', '<=', now)
          .where((eb) => eb.or([eb('leasedUntil', 'is', null), eb('leasedUntil', '<=', now)]))
          .orderBy('nextAttemptAt')
          .limit(1);
        if (only !== undefined) due = due.where('install', '=', only);
        if (database.dialect === 'postgres') due = due.forUpdate().skipLocked();
        const row = await due.executeTakeFirst();
        if (row === undefined) return null;
        const { install, attempts, readWantedAt, readWantedBy } = row;
        await tx
          .updateTable('installState')
          .set({ leasedUntil })
          .where('install', '=', install)
          .execute();
        return {
          ...{ install, attempts, readWantedAt: readWantedAt ?? now },
          trigger: readWantedBy ?? 'event',
        };
      });
    },

    async settle({ install, readWantedAt }, beganAt) {
      await inTransaction(database, async (tx) => {
        const done = { readBeganAt: beganAt, leasedUntil: null, attempts: 0, failure: null };
        await tx.updateTable('installState').set(done).where('install', '=', install).execute();
        // One that was asked for after this one began is still to be made.
        await tx
          .updateTable('installState')
          .set({ readWantedAt: null, nextAttemptAt: null })
          .where('install', '=', install)
          .where('readWantedAt', '<=', readWantedAt)
          .execute();
        await tx
          .updateTable('installState')
          .set({ heldSince: null })
          .where('install', '=', install)
          .where('heldSince', '<=', beganAt)
          .execute();
      });
    },

    async postpone({ install, attempts }, failure, nextAttemptAt) {
      await inTransaction(database, (tx) =>
        tx
          .updateTable('installState')
          .set({ leasedUntil: null, attempts: attempts + 1, failure, nextAttemptAt })
          .where('install', '=', install)
          .execute(),
      );
    },

    async known(install) {
      const links = await kysely
        .selectFrom('link')
        .selectAll()
        .where('install', '=', install)
        .where('removedEventAt', 'is', null)
        .execute();
      const isLive = (link: (typeof links)[number]) => statusOfLink(link) === 'live';
      return {
        linkIds: links.filter(isLive).map(({ linkId }) => linkId),
        contracts: await loadOpenContracts(database, install),
      };
    },

    find: (install) => selectStates(kysely).where('install', '=', install).executeTakeFirst(),
    list: () => selectStates(kysely).orderBy('install').execute(),
  };
}

function selectStates(db: Transaction) {
  return db
    .selectFrom('installState')
    .select(['install', 'heldSince', 'readWantedAt', 'readBeganAt', 'attempts', 'failure']);
}

async function loadOpenContracts({ kysely }: Database, install: string): Promise<KnownContract[]> {
  const contracts = await kysely
    .selectFrom('contract')
    .selectAll()
    .where('install', '=', install)
    .where('endedReadAt', 'is', null)
    .execute();
  const open = contracts.filter((contract) => {
    const status = statusOfContract(contract);
    return status === 'active' || status === 'disputed';
  });
  const isOpen = kysely
    .selectFrom('contract')
    .select('contractId')
    .where('install', '=', install)
    .where('endedReadAt', 'is', null);
  const pairs = await kysely
    .selectFrom('contractLink')
    .select(['contractId', 'linkId'])
    .where('install', '=', install)
    .where('contractId', 'in', isOpen)
    .execute();
  const participations = await kysely
    .selectFrom('participation')
    .select(['contractId', 'trainerId', 'seenAt', 'absences'])
    .where('install', '=', install)
    .where('contractId', 'in', isOpen)
    .execute();
  const linksBy = Map.groupBy(pairs, ({ contractId }) => contractId);
  // Whoever has left is not missed again: that would only put off when they left.
  const present = participations.filter((participation) => leftSince(participation) === null);
  const trainersBy = Map.groupBy(present, ({ contractId }) => contractId);
  // One absence proves nothing, and whether they are gone is to be known soon.
  const doubtful = new Set(
    present
      .filter(({ absences, seenAt }) => isMissed(absences, seenAt))
      .map(({ contractId }) => contractId),
  );
  return open.map(({ contractId, participantsReadAt }) => ({
    ...{ contractId, participantsReadAt: doubtful.has(contractId) ? null : participantsReadAt },
    linkIds: (linksBy.get(contractId) ?? []).map(({ linkId }) => linkId),
    trainerIds: (trainersBy.get(contractId) ?? []).map(({ trainerId }) => trainerId),
  }));
}
