import { expect, it } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { recordReasons } from '../../src/memberships/membership-store.ts';
import { hire } from '../support/converging.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine } from '../support/engine-harness.ts';

describeEachDatabase('the reasons of a membership', (openFresh) => {
  it('are recorded however many there are: a statement with too many parameters once stopped everyone', async () => {
    const engine = createEngine(await openFresh());
    await hire(engine, 1);
    const [reason] = await engine.database.kysely.selectFrom('reason').selectAll().execute();
    if (reason === undefined) throw new Error('there is none');
    // PostgreSQL accepts 65,535 parameters in a statement, and SQLite 32,766.
    const more = Array.from({ length: 11_000 }, (_, index) => ({ ...reason, contractId: `more${index}` }));
    await inTransaction(engine.database, (tx) => recordReasons(tx, more));
    expect(await engine.rows('reason')).toHaveLength(11_001);
  });
});
