import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { firstIdSince } from '../../db/first-id-since.ts';
import { claimRows, isFree } from '../../db/lease.ts';
import type { Row } from '../../db/schema.ts';
import { maxEnabled } from './decide-subscription.ts';
import type { Trouble } from './troubles.ts';

/** The only SQL about the state of webhook endpoints as the watch sees it. */
export interface SubscriptionStore {
  /** Makes a check of these installs due. */
  wantCheck(installs: readonly string[], now: string): Promise<void>;
  /** Claims some of these installs whose check is due. */
  claim(installs: readonly string[], now: string, leasedUntil: string): Promise<string[]>;
  /** Ends a claim. */
  release(install: string, nextCheckAt: string): Promise<void>;
  find(install: string): Promise<SubscriptionRecord>;
  /** The installs with trouble. */
  listTroubled(): Promise<{ install: string; trouble: Trouble }[]>;
  /** Forgets all troubles, because without checks no trouble would ever end. */
  forgetTroubles(): Promise<void>;
  /** @param checkedAt null if the check failed */
  check(install: string, checkedAt: string | null, trouble: Trouble | null): Promise<void>;
  /** Durable when it resolves. From now on an endpoint may exist whose secret is not stored. */
  beginCreating(install: string, now: string): Promise<void>;
  /** No new endpoint can exist. */
  giveUpCreating(install: string, before: string | null): Promise<void>;
  /** The secret is stored. What is known about earlier endpoints does not apply to this one. */
  created(install: string): Promise<void>;
  /** The same for one that takes over from another, whose count goes on. */
  renewed(install: string): Promise<void>;
  /** The times at which others were enabled do not apply to the one that is watched from now on. */
  adopted(install: string): Promise<void>;
  /** Durable when it resolves, so that it is never enabled more often than is noted. */
  enabled(install: string, at: string): Promise<void>;
  unmatched(install: string, at: string): Promise<void>;
  /** When the last delivery was accepted since then; null if none was. */
  lastAccepted(install: string, since: string): Promise<string | null>;
}

export interface SubscriptionRecord {
  checkedAt: string | null;
  trouble: Trouble | null;
  creatingSince: string | null;
  unmatchedAt: string | null;
  /** Oldest first. */
  enabledAt: string[];
}

/** How many are checked at the same time. */
const claimsAtOnce = 4;

export function createSubscriptionStore(database: Database): SubscriptionStore {
  const { kysely } = database;

  function selectDue(db: Transaction, installs: readonly string[], now: string) {
    return db
      .selectFrom('subscription')
      .select('install')
      .where('install', 'in', installs)
      .where('nextCheckAt', '<=', now)
      .where(isFree('subscription', now))
      .orderBy('nextCheckAt')
      .limit(claimsAtOnce);
  }

  async function set(install: string, changes: Partial<Row<'subscription'>>, isDurable = false): Promise<void> {
    await inTransaction(database, (tx) => upsert(tx, install, changes), { isDurable });
  }

  return {
    async wantCheck(installs, nextCheckAt) {
      await inTransaction(database, async (tx) => {
        for (const install of installs) await upsert(tx, install, { nextCheckAt });
      });
    },

    async claim(installs, now, leasedUntil) {
      if (installs.length === 0) return [];
      const due = await selectDue(kysely, installs, now).execute();
      if (due.length === 0) return [];
      return await inTransaction(database, async (tx) => {
        const rows = await claimRows(database, selectDue(tx, installs, now)).execute();
        const claimed = rows.map(({ install }) => install);
        if (claimed.length === 0) return [];
        await tx.updateTable('subscription').set({ leasedUntil }).where('install', 'in', claimed).execute();
        return claimed;
      });
    },

    release: (install, nextCheckAt) => set(install, { nextCheckAt, leasedUntil: null }),

    async find(install) {
      const row = await kysely.selectFrom('subscription').selectAll().where('install', '=', install).executeTakeFirst();
      return row === undefined ? nothing : toRecord(row);
    },

    async listTroubled() {
      const rows = await kysely
        .selectFrom('subscription')
        .select(['install', 'trouble'])
        .where('trouble', 'is not', null)
        .orderBy('install')
        .execute();
      return rows.flatMap(({ install, trouble }) =>
        trouble === null ? [] : [{ install, trouble: toTrouble(trouble) }],
      );
    },

    async forgetTroubles() {
      await inTransaction(database, (tx) =>
        tx
          .updateTable('subscription')
          .set({ trouble: null, nextCheckAt: null })
          .where((eb) => eb.or([eb('trouble', 'is not', null), eb('nextCheckAt', 'is not', null)]))
          .execute(),
      );
    },

    check: (install, checkedAt, trouble) =>
      set(install, {
        ...(checkedAt !== null && { checkedAt }),
        trouble: trouble === null ? null : JSON.stringify(trouble),
      }),

    beginCreating: (install, now) => set(install, { creatingSince: now }, true),
    giveUpCreating: (install, before) => set(install, { creatingSince: before }),
    created: (install) => set(install, { creatingSince: null, enabledAt: '[]', unmatchedAt: null }),
    renewed: (install) => set(install, { creatingSince: null, unmatchedAt: null }),
    adopted: (install) => set(install, { enabledAt: '[]' }),

    async enabled(install, at) {
      await inTransaction(
        database,
        async (tx) => {
          const row = await tx
            .selectFrom('subscription')
            .select('enabledAt')
            .where('install', '=', install)
            .executeTakeFirst();
          const enabledAt = [...toInstants(row?.enabledAt ?? '[]'), at].slice(-maxEnabled);
          await upsert(tx, install, { enabledAt: JSON.stringify(enabledAt) });
        },
        { isDurable: true },
      );
    },

    unmatched: (install, unmatchedAt) => set(install, { unmatchedAt }),

    async lastAccepted(install, since) {
      const row = await kysely
        .selectFrom('delivery')
        .select((eb) => eb.fn.max('receivedAt').as('at'))
        .where('id', '>=', await firstIdSince(kysely, 'delivery', 'receivedAt', since))
        .where('install', '=', install)
        .where('receivedAt', '>=', since)
        .executeTakeFirst();
      return row?.at ?? null;
    },
  };
}

async function upsert(tx: Transaction, install: string, changes: Partial<Row<'subscription'>>): Promise<void> {
  await tx
    .insertInto('subscription')
    .values({ install, ...changes })
    .onConflict((conflict) => conflict.column('install').doUpdateSet(changes))
    .execute();
}

/** Forgets the subscription of an install that is removed. */
export async function dropSubscription(tx: Transaction, install: string): Promise<void> {
  await tx.deleteFrom('subscription').where('install', '=', install).execute();
}

const nothing: SubscriptionRecord = {
  checkedAt: null,
  trouble: null,
  creatingSince: null,
  unmatchedAt: null,
  enabledAt: [],
};

function toRecord({ checkedAt, trouble, creatingSince, unmatchedAt, enabledAt }: Row<'subscription'>) {
  return {
    checkedAt,
    creatingSince,
    unmatchedAt,
    enabledAt: toInstants(enabledAt),
    trouble: trouble === null ? null : toTrouble(trouble),
  };
}

function toInstants(text: string): string[] {
  return JSON.parse(text) as string[];
}

function toTrouble(text: string): Trouble {
  return JSON.parse(text) as Trouble;
}
