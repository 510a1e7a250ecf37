import { type Database, inTransaction } from '../db/database.ts';
import type { ToolTrouble } from '../domain/tool-trouble.ts';
import { isHeldBack, isWorkable } from '../memberships/membership-store.ts';

/** The SQL of tools in trouble, so that other processes know what a breaker knows. */
export interface ToolTroubleStore {
  /** Records trouble. As long as it is the same trouble, it keeps the time when it began. */
  record(trouble: ToolTrouble): Promise<void>;
  clear(tool: string): Promise<void>;
  list(): Promise<ToolTrouble[]>;
  /** Counts memberships whose call is due, or has failed and will be retried, grouped by what they wait for. */
  listWaiting(): Promise<WaitingMemberships[]>;
  /** Names some of these trainers, those who have waited longest first. */
  nameWaiting(tool: string, limit: number): Promise<string[]>;
}

export interface WaitingMemberships {
  tool: string;
  /** Whether they wait to be added; otherwise to be removed. */
  isWanted: boolean;
  /** Whether the tool refuses them. That needs an operator and is shown separately. */
  isRefused: boolean;
  failure: string | null;
  count: number;
  /** Since when the first of them waits. */
  since: string;
}

export function createToolTroubleStore(database: Database): ToolTroubleStore {
  const { kysely } = database;
  return {
    async record({ tool, errorCode, message, since, asksAgainAt }) {
      await inTransaction(database, (tx) =>
        tx
          .insertInto('toolTrouble')
          .values({ tool, errorCode, message, since, asksAgainAt })
          .onConflict((conflict) =>
            conflict.column('tool').doUpdateSet((eb) => ({
              since: eb
                .case()
                .when('toolTrouble.errorCode', '=', errorCode)
                .then(eb.ref('toolTrouble.since'))
                .else(since)
                .end(),
              errorCode,
              message,
              asksAgainAt,
            })),
          )
          .execute(),
      );
    },

    async clear(tool) {
      await inTransaction(database, (tx) => tx.deleteFrom('toolTrouble').where('tool', '=', tool).execute());
    },

    list: () => kysely.selectFrom('toolTrouble').selectAll().orderBy('tool').execute(),

    async listWaiting() {
      const rows = await kysely
        .selectFrom(selectWaiting(database).as('waiting'))
        .select((eb) => ['tool', 'wanted', 'state', 'failure', eb.fn.countAll<number>().as('count')])
        .select((eb) => eb.fn.min('since').as('since'))
        .groupBy(['tool', 'wanted', 'state', 'failure'])
        .execute();
      return rows.map(({ tool, wanted, state, failure, count, since }) => ({
        tool,
        isWanted: wanted,
        isRefused: state === 'failed',
        failure,
        since,
        count: Number(count),
      }));
    },

    async nameWaiting(tool, limit) {
      const rows = await kysely
        .selectFrom(selectWaiting(database).as('waiting'))
        .select((eb) => ['trainerId', eb.fn.min('since').as('since')])
        .where('tool', '=', tool)
        .groupBy('trainerId')
        .orderBy('since')
        .orderBy('trainerId')
        .limit(limit)
        .execute();
      return rows.map(({ trainerId }) => trainerId);
    },
  };
}

/** Memberships whose call is due, or has failed and will be retried, and since when. */
export function selectWaiting({ kysely }: Database) {
  return kysely
    .selectFrom('membership')
    .select(['id', 'install', 'tool', 'trainerId', 'wanted', 'state', 'failure'])
    .select((eb) =>
      eb.fn
        .coalesce(
          eb
            .selectFrom('receipt')
            .select((of) => of.fn.min('createdAt').as('at'))
            .whereRef('receipt.membershipId', '=', 'membership.id')
            .whereRef('receipt.generation', '=', 'membership.generation')
            .where('outcome', 'in', ['failed', 'refused', 'unproven']),
          'membership.updatedAt',
        )
        .as('since'),
    )
    .where('nextAttemptAt', 'is not', null)
    .where('state', 'in', ['pending', 'removing', 'failed'])
    .where(isWorkable)
    .where((eb) => eb.not(isHeldBack(eb)));
}
