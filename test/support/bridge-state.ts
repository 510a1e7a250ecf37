import { onTestFinished } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { openBody } from '../../src/inbox/inbox-store.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { secretKey } from './bridge-process.ts';
import { until } from './until.ts';

/** A look from outside into the database that bridges in other processes work on. */
export interface BridgeState {
  database: Database;
  countDeliveries(): Promise<number>;
  /** Every delivery, its body opened. */
  stored(): Promise<{ state: string; body: string }[]>;
  /** By outcome. */
  countReceipts(): Promise<Record<string, number>>;
  /**
   * Resolves when every delivery is looked at and every membership is brought in line.
   *
   * @param beforeLook is called before each look
   */
  settled(beforeLook?: () => Promise<unknown>): Promise<void>;
}

export function openBridgeState(url: string): BridgeState {
  const database = openDatabase(url);
  onTestFinished(() => database.close());
  const { kysely } = database;

  async function countDue(): Promise<number> {
    const { due } = await kysely
      .selectNoFrom((eb) => [
        eb(
          eb
            .selectFrom('delivery')
            .select((of) => of.fn.countAll<number>().as('n'))
            .where('nextAttemptAt', 'is not', null),
          '+',
          eb
            .selectFrom('membership')
            .select((of) => of.fn.countAll<number>().as('n'))
            .where((of) =>
              of.or([
                // A trainer who was not found by one look is only looked for once more, in a minute.
                of.and([
                  of('nextAttemptAt', 'is not', null),
                  of.or([of('missedAt', 'is', null), of('lateUntil', 'is not', null)]),
                ]),
                // A lease that was not given back, as nothing was left to do, ends by itself.
                of('leasedUntil', '>', new Date().toISOString()),
                of('removeAfter', 'is not', null),
              ]),
            ),
        ).as('due'),
      ])
      .executeTakeFirstOrThrow();
    return Number(due);
  }

  return {
    database,
    async countDeliveries() {
      const all = kysely.selectFrom('delivery').select((eb) => eb.fn.countAll<number>().as('n'));
      return Number((await all.executeTakeFirstOrThrow()).n);
    },
    async stored() {
      const storage = { database, box: createSecretBox(secretKey) };
      const rows = await kysely.selectFrom('delivery').selectAll().execute();
      return rows.map((row) => ({ state: row.state, body: openBody(storage, row).toString('utf8') }));
    },
    async countReceipts() {
      const rows = await kysely
        .selectFrom('receipt')
        .select((eb) => ['outcome', eb.fn.countAll<number>().as('n')])
        .groupBy('outcome')
        .execute();
      return Object.fromEntries(rows.map(({ outcome, n }) => [outcome, Number(n)]));
    },
    async settled(beforeLook = async () => undefined) {
      const look = async () => {
        await beforeLook();
        return await countDue();
      };
      await until('all is done', look, (due) => due === 0);
    },
  };
}
