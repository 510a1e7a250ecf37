import { expect, it } from 'vitest';
import { describeEachDialect } from '../support/databases.ts';
import { runBatch, tellAlone, together } from '../support/stories/run-stories.ts';

/**
 * Stories by the thousand, on both databases: `STORIES=500 npm run test:stories` tells so many on
 * each. They are always the same, so that one which is red can be told again, by whoever is to mend
 * it and on any machine; `STORIES_SEED=7` begins with others, at the seventh batch, and
 * `STORIES_SEED=7.12` tells that one alone, shrunk, minute by minute.
 */
const count = Number(process.env['STORIES'] ?? 10_000);
const [first = 1, only] = (process.env['STORIES_SEED'] ?? '1').split('.').map(Number);
const mostToldAlone = Number(process.env['STORIES_SHOW'] ?? 3);

describeEachDialect('any story', (dialect) => {
  it.runIf(only === undefined)(`ends nobody wrongly, at any moment (${count})`, async () => {
    const wrong: string[] = [];
    const alone: string[] = [];
    for (let batch = first; (batch - first) * together < count; batch += 1) {
      const left = count - (batch - first) * together;
      const found = await runBatch(dialect, batch, Math.min(together, left));
      wrong.push(...found);
      const indexes = found.map((one) => Number(/^story \d+\.(\d+)/.exec(one)?.[1]));
      for (const index of indexes.slice(0, mostToldAlone - alone.length)) {
        alone.push((await tellAlone(dialect, batch, index)) ?? `${batch}.${index} is right alone`);
      }
    }
    expect(wrong, alone.join('\n\n')).toEqual([]);
  });

  it.runIf(only !== undefined)('ends nobody wrongly, told alone', async () => {
    expect(await tellAlone(dialect, first, only ?? 0)).toBeNull();
  });
});
