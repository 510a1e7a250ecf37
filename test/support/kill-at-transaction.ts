import type { Database } from '../../src/db/database.ts';

/** The same database, whose n-th transaction fails before it begins, as where the process is killed there. */
export function killAtTransaction(database: Database, nth: number): Database {
  let begun = 0;
  return {
    ...database,
    transact(work, isDurable) {
      begun += 1;
      return begun === nth ? Promise.reject(new Error('killed')) : database.transact(work, isDurable);
    },
  };
}
