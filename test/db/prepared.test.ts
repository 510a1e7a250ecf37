import { expect, it } from 'vitest';
import { prepared } from '../../src/db/prepared.ts';
import { describeEachDialect, openForTest } from '../support/databases.ts';

interface Change {
  accountId: string;
  isOurs?: boolean;
  trainerId?: string | null | undefined;
}

describeEachDialect('a prepared query', (dialect) => {
  it('is built once for each set of values, and again for another database', async () => {
    let built = 0;
    const update = prepared((db, { accountId, ...changes }: Change) => {
      built += 1;
      return db.updateTable('account').set(changes).where('accountId', '=', accountId).returning('accountId');
    });
    for (let count = 1; count <= 2; count += 1) {
      const { kysely } = openForTest(await dialect.createMigrated());
      const account = {
        tool: 'studio',
        isOurs: true,
        seenAt: '2026-01-01T00:00:00.000Z',
        trainerId: 'usr',
        madeAt: null,
      };
      await kysely
        .insertInto('account')
        .values(['7', '8'].map((accountId) => ({ ...account, accountId })))
        .execute();
      expect((await update(kysely, { accountId: '7', isOurs: false })).rows).toEqual([{ accountId: '7' }]);
      expect((await update(kysely, { accountId: '8', isOurs: true, trainerId: undefined })).rows).toHaveLength(1);
      expect((await update(kysely, { accountId: '9', isOurs: true })).rows).toEqual([]);
      expect((await update(kysely, { accountId: '8', trainerId: null })).rows).toHaveLength(1);
      const kept = await kysely.selectFrom('account').select(['isOurs', 'trainerId']).orderBy('accountId').execute();
      expect(kept).toEqual([
        { isOurs: false, trainerId: 'usr' },
        { isOurs: true, trainerId: null },
      ]);
      expect(built).toBe(2 * count);
    }
  });
});
