import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { inParts } from '../db/key-in.ts';
import type { Tables } from '../db/tables.ts';
import { createTurns } from '../lib/turns.ts';

/**
 * The SQL of the trainers who are to be derived in a later transaction. Installs take turns, and
 * within one they are taken in the order in which they were left.
 */
export interface DerivationStore {
  /** Leaves trainers to be derived in a transaction of their own. */
  postponeDerivation(tx: Transaction, waiting: readonly Waiting[]): Promise<void>;
  /** The same for everybody who is or was on a contract of these installs. */
  postponeInstalls(tx: Transaction, installs: string[]): Promise<void>;
  /**
   * Those of installs that are to be read first wait for that.
   *
   * @param of on this install's word; on anybody's by default
   */
  hasPostponed(of?: string): Promise<boolean>;
  /**
   * Takes those whose turn it is, for as many contracts as there is room for; but always one.
   *
   * @param room how many participations of theirs may be looked at
   */
  takePostponed(tx: Transaction, limit: number, room: number): Promise<string[]>;
  /** Forgets that trainers were left: they are derived now. */
  dropPostponed(tx: Transaction, trainerIds: readonly string[]): Promise<void>;
  /** By trainer, how many contracts they are or were on, whoever says so. */
  countContracts(tx: Transaction, trainerIds: readonly string[]): Promise<Map<string, number>>;
}

export interface Waiting {
  /** On whose word. */
  install: string;
  trainerId: string;
}

export function createDerivationStore({ kysely }: Database): DerivationStore {
  const turns = createTurns();

  async function countContracts(tx: Transaction, trainerIds: readonly string[]) {
    if (trainerIds.length === 0) return new Map<string, number>();
    const rows = await tx
      .selectFrom('participation')
      .select((eb) => ['trainerId', eb.fn.countAll<number>().as('count')])
      .where('trainerId', 'in', trainerIds)
      .groupBy('trainerId')
      .execute();
    return new Map(rows.map(({ trainerId, count }) => [trainerId, Number(count)]));
  }

  async function dropPostponed(tx: Transaction, trainerIds: readonly string[]) {
    if (trainerIds.length === 0) return;
    await tx.deleteFrom('derivation').where('trainerId', 'in', trainerIds).execute();
  }

  return {
    async postponeDerivation(tx, waiting) {
      for (const part of inParts(waiting)) {
        await tx
          .insertInto('derivation')
          .values(part.map(({ install, trainerId }) => ({ install, trainerId })))
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      }
    },

    async postponeInstalls(tx, installs) {
      await tx
        .insertInto('derivation')
        .columns(['install', 'trainerId'])
        .expression(
          tx.selectFrom('participation').select(['install', 'trainerId']).distinct().where('install', 'in', installs),
        )
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },

    async hasPostponed(of) {
      let postponed = kysely.selectFrom('derivation').select('trainerId').where(mayBeDerived);
      if (of !== undefined) postponed = postponed.where('install', '=', of);
      return (await postponed.limit(1).executeTakeFirst()) !== undefined;
    },

    async takePostponed(tx, limit, room) {
      const candidates = await turns.take(await installsWaiting(tx), limit, (install, part) =>
        findWaiting(tx, install, part),
      );
      const distinct = [...new Set(candidates)];
      const counts = await countContracts(tx, distinct);
      let left = room;
      const taken = distinct.filter((trainerId, index) => {
        left -= counts.get(trainerId) ?? 0;
        return index === 0 || left >= 0;
      });
      await dropPostponed(tx, taken);
      return taken;
    },

    dropPostponed,
    countContracts,
  };
}

/** Leaps from install to install in the index, however many of each are waiting. */
async function installsWaiting(tx: Transaction): Promise<string[]> {
  const { rows } = await sql<{ install: string }>`
    with recursive turn (install) as (
      select min(install) from derivation
      union all
      select (select min(install) from derivation where install > turn.install)
        from turn where turn.install is not null
    )
    select install from turn where install is not null`.execute(tx);
  return rows.map((row) => row.install);
}

async function findWaiting(tx: Transaction, install: string, limit: number): Promise<string[]> {
  const waiting = await tx
    .selectFrom('derivation')
    .select('trainerId')
    .where('install', '=', install)
    .where(mayBeDerived)
    .orderBy('arrival')
    .limit(limit)
    .execute();
  return waiting.map((row) => row.trainerId);
}

/**
 * Not from what was known before a silence, while the marketplace has not been asked since; but
 * where something new is known of them.
 */
function mayBeDerived(eb: ExpressionBuilder<Tables, 'derivation'>): Expression<SqlBool> {
  return eb.not(
    eb.exists(
      eb
        .selectFrom('participation')
        .innerJoin('installState', 'installState.install', 'participation.install')
        .select('participation.trainerId')
        .whereRef('participation.trainerId', '=', 'derivation.trainerId')
        .whereRef('installState.heldSince', '>', 'derivation.evidenceAt'),
    ),
  );
}
