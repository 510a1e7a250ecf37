import { randomUUID } from 'node:crypto';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { inParts } from '../../db/key-in.ts';
import { claimRows, isFree } from '../../db/lease.ts';
import type { UsagePlaceRow } from '../../db/usage-tables.ts';
import { noTrouble, type PlaceTrouble } from './place-trouble.ts';

/** The only SQL about which places are to be read, and how far they have been. */
export interface PlaceStore {
  /** Has those that were never read, read soon. */
  keep(places: readonly KeptPlace[], now: string): Promise<void>;
  /** Has all of these read anew. */
  want(tx: Transaction, places: readonly PlaceKey[], now: string): Promise<void>;
  /** How many are to be read now: of one tool, or of all. */
  countDue(now: string, of?: DueFilter): Promise<number>;
  /** Whether somebody is to be taken out now of a group of which it is not known where it works. */
  isPlaceMissing(tool: string, now: string): Promise<boolean>;
  claim(now: string, leasedUntil: string, tool?: string): Promise<PlaceClaim | null>;
  settle(claim: PlaceClaim, done: DoneReading): Promise<void>;
  postpone(claim: PlaceClaim, failed: { failure: string; nextReadAt: string; trouble: PlaceTrouble }): Promise<void>;
  list(): Promise<UsagePlaceRow[]>;
}

export interface PlaceKey {
  tool: string;
  scope: string;
}

export interface DueFilter {
  tool?: string;
  /** Only those that became due after this instant. */
  dueSince?: string;
}

export interface KeptPlace extends PlaceKey {
  /** Whose members work there. */
  groupIds: readonly string[];
}

export interface DoneReading {
  beganAt: string;
  isComplete: boolean;
  /** What the tool could not tell; null where it told all. */
  gap: string | null;
}

export interface PlaceClaim extends PlaceKey, PlaceTrouble {
  token: string;
  /** What asked for it: one that comes later is not met by this reading. */
  wantedAt: string;
  attempts: number;
  readBeganAt: string | null;
  completeBeganAt: string | null;
  /** Since when the tool cannot tell something; null where it told all at the last reading. */
  gapSince: string | null;
}

export function createPlaceStore(database: Database): PlaceStore {
  const { kysely } = database;
  return {
    async keep(places, now) {
      const known = await kysely.selectFrom('usagePlace').select(['tool', 'scope']).execute();
      const keys = new Set(known.map(keyOf));
      const added = places.filter((place) => !keys.has(keyOf(place)));
      await inTransaction(database, (tx) => insert(tx, added, now));
      await keepGroups(database, places);
    },

    want: (tx, places, now) => insert(tx, places, now),

    async countDue(now, { tool, dueSince } = {}) {
      let due = kysely
        .selectFrom('usagePlace')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('nextReadAt', '<=', now);
      if (tool !== undefined) due = due.where('tool', '=', tool);
      if (dueSince !== undefined) due = due.where('nextReadAt', '>', dueSince);
      return (await due.executeTakeFirstOrThrow()).n;
    },

    async isPlaceMissing(tool, now) {
      // Named by its tool here, SQLite would look through everybody in it.
      const due = kysely
        .selectFrom('membership')
        .select('tool')
        .distinct()
        .where('removeAfter', '<=', now)
        .where((eb) =>
          eb.not(
            eb.exists(
              eb
                .selectFrom('usagePlaceGroup')
                .select('scope')
                .whereRef('usagePlaceGroup.tool', '=', 'membership.tool')
                .whereRef('usagePlaceGroup.groupId', '=', 'membership.groupId'),
            ),
          ),
        );
      return (await due.execute()).some((row) => row.tool === tool);
    },

    claim: (now, leasedUntil, tool) =>
      inTransaction(database, async (tx) => {
        let due = tx
          .selectFrom('usagePlace')
          .selectAll()
          .where('nextReadAt', '<=', now)
          .where(isFree('usagePlace', now))
          .orderBy('nextReadAt')
          .limit(1);
        if (tool !== undefined) due = due.where('tool', '=', tool);
        const row = await claimRows(database, due).executeTakeFirst();
        if (row === undefined) return null;
        const { nextReadAt, failure: _, leaseToken: __, leasedUntil: ___, gap: ____, ...place } = row;
        const token = randomUUID();
        await at(tx, place).set({ leaseToken: token, leasedUntil }).execute();
        return { ...place, token, wantedAt: nextReadAt ?? now };
      }),

    async settle(claim, { beganAt, isComplete, gap }) {
      const done = { leaseToken: null, leasedUntil: null, attempts: 0, failure: null };
      const found = {
        ...noTrouble,
        gap,
        gapSince: gap === null ? null : (claim.gapSince ?? beganAt),
      };
      const completeBeganAt = isComplete ? beganAt : claim.completeBeganAt;
      await inTransaction(database, async (tx) => {
        const held = at(tx, claim).where('leaseToken', '=', claim.token);
        await held.set({ ...done, ...found, readBeganAt: beganAt, completeBeganAt }).execute();
        const met = at(tx, claim).where('nextReadAt', '<=', claim.wantedAt);
        await met.set({ nextReadAt: null }).execute();
      });
    },

    async postpone(claim, { failure, nextReadAt, trouble }) {
      const { failingSince, goneSince, refusedAt, toldAt } = trouble;
      const failed = {
        leaseToken: null,
        leasedUntil: null,
        failure,
        nextReadAt,
        failingSince,
        goneSince,
        refusedAt,
        toldAt,
      };
      await inTransaction(database, (tx) =>
        at(tx, claim)
          .set({ ...failed, attempts: claim.attempts + 1 })
          .where('leaseToken', '=', claim.token)
          .execute(),
      );
    },

    list: () => kysely.selectFrom('usagePlace').selectAll().orderBy('tool').orderBy('scope').execute(),
  };
}

function at(tx: Transaction, { tool, scope }: PlaceKey) {
  return tx.updateTable('usagePlace').where('tool', '=', tool).where('scope', '=', scope);
}

async function insert(tx: Transaction, places: readonly PlaceKey[], now: string): Promise<void> {
  for (const part of inParts(places)) {
    const rows = part.map(({ tool, scope }) => ({ tool, scope, nextReadAt: now }));
    await tx
      .insertInto('usagePlace')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['tool', 'scope']).doUpdateSet({ nextReadAt: now, attempts: 0 }))
      .execute();
  }
}

function keyOf({ tool, scope }: PlaceKey): string {
  return JSON.stringify([tool, scope]);
}

/** A group that is there already is left: this is looked at every minute. */
async function keepGroups(database: Database, places: readonly KeptPlace[]): Promise<void> {
  const stored = await database.kysely.selectFrom('usagePlaceGroup').selectAll().execute();
  const toText = (row: { tool: string; groupId: string; scope: string }) =>
    JSON.stringify([row.tool, row.groupId, row.scope]);
  const known = new Set(stored.map(toText));
  const rows = places
    .flatMap(({ tool, scope, groupIds }) => groupIds.map((groupId) => ({ tool, groupId, scope })))
    .filter((row) => !known.has(toText(row)));
  for (const part of inParts(rows)) {
    await inTransaction(database, (tx) =>
      tx
        .insertInto('usagePlaceGroup')
        .values(part)
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    );
  }
}
