import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { claimScope, wantScopes } from '../../../src/usage/read/scope-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { storageOf } from '../../support/storage-of.ts';

const [earlier, now, later] = ['2026-03-15T11:00:00.000Z', '2026-03-15T12:00:00.000Z', '2026-03-15T12:10:00.000Z'];

describeEachDatabase('readings of work', (openFresh) => {
  it('take turns: the one of a customer is second, though two hundred of another were wanted before', async () => {
    const database = await openFresh();
    const storage = storageOf(database);
    const ofMany = [...Array(200).keys()].map((project) => ({ install: 'acme', tool: 'studio', scope: `a${project}` }));
    const ofOne = { install: 'globex', tool: 'studio', scope: 'g1' };
    await inTransaction(database, (tx) => wantScopes(tx, ofMany, earlier));
    await inTransaction(database, (tx) => wantScopes(tx, [ofOne], now));
    const claims = [await claimScope(storage, now, later, 'studio'), await claimScope(storage, now, later, 'studio')];
    expect(claims.map((claim) => claim?.install)).toEqual(['acme', 'globex']);
  });
});
