import { expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { addDays } from '../../../src/lib/days.ts';
import { clearImports } from '../../../src/usage/import/import-file.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { countRows, openImportWorld, prepareLines } from './import-harness.ts';

describeAnyDatabase('an import of many lines', (openFresh) => {
  it('is written and cleared in transactions of at most 500 lines, so that nobody waits long for one', async () => {
    const { ctx, engine } = await openImportWorld(openFresh);
    const stored = [0];
    const database: Database = {
      ...ctx.database,
      async transact(work, isDurable) {
        const result = await ctx.database.transact(work, isDurable);
        const [, lines] = await countRows(engine);
        stored.push(lines);
        return result;
      },
    };
    const lines = Array.from({ length: 1100 }, (_, back) => `${addDays('2026-03-15', -back)},cmc1,60`);
    await prepareLines({ ...ctx, database }, lines);
    expect(stored.at(-1)).toBe(1100);
    engine.clock.advance(2 * 3_600_000);
    await clearImports({ ...ctx, database }, { signal: AbortSignal.any([]), onProgress: () => undefined });
    expect(stored.at(-1)).toBe(0);
    const steps = stored.slice(1).map((count, index) => Math.abs(count - (stored[index] ?? 0)));
    expect(Math.max(...steps)).toBe(500);
  });
});
