import type { Instance } from '../domain/instance.ts';
import { type Database, inTransaction } from './database.ts';

/** The SQL of the instances on this database. Each instance keeps a row of its own. */
export interface InstanceStore {
  /** Also deletes the rows of instances whose last beat is before `forgetBefore`. */
  beat(instance: Omit<Instance, 'stoppedAt'>, forgetBefore: string): Promise<void>;
  stop(id: string, now: string): Promise<void>;
  /** All instances, running or not. The one with the latest beat comes first. */
  list(): Promise<Instance[]>;
}

export function createInstanceStore(database: Database): InstanceStore {
  return {
    async beat(instance, forgetBefore) {
      const { id, beatAt } = instance;
      await inTransaction(database, async (tx) => {
        await tx
          .insertInto('instance')
          .values({ ...instance, stoppedAt: null })
          .onConflict((conflict) => conflict.column('id').doUpdateSet({ beatAt }))
          .execute();
        await tx.deleteFrom('instance').where('beatAt', '<', forgetBefore).where('id', '!=', id).execute();
      });
    },

    async stop(id, now) {
      await inTransaction(database, (tx) =>
        tx.updateTable('instance').set({ beatAt: now, stoppedAt: now }).where('id', '=', id).execute(),
      );
    },

    list: () => database.kysely.selectFrom('instance').selectAll().orderBy('beatAt', 'desc').execute(),
  };
}
