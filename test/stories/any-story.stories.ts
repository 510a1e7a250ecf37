import { expect, it } from 'vitest';
import { type Dialect, describeEachDialect } from '../support/databases.ts';
import { runBatch, tellAlone, together } from '../support/stories/run-stories.ts';

/**
 * Stories by the thousand, on both databases: `STORIES=500 npm run test:stories` tells so many on
 * each. They are always the same, so that one which is red can be told again, by whoever is to mend
 * it and on any machine; `STORIES_SEED=7` begins with others, at the seventh batch, and
 * `STORIES_SEED=7.12` tells that one alone, shortened, minute by minute.
 */
const count = Number(process.env['STORIES'] ?? 10_000);
const [first = 1, only] = (process.env['STORIES_SEED'] ?? '1').split('.').map(Number);
const mostToldAlone = Number(process.env['STORIES_SHOW'] ?? 3);

const what = only === undefined ? `${count} from batch ${first}` : `${first}.${only} alone`;

describeEachDialect('any story', (dialect) => {
  it(`ends nobody wrongly, at any moment: ${what}`, async () => {
    const { wrong, alone } = only === undefined ? await tellMany(dialect) : await tellOne(dialect, only);
    expect(wrong, alone.join('\n\n')).toEqual([]);
  });
});

interface Told {
  wrong: string[];
  /** The first of them as they are alone. */
  alone: string[];
}

async function tellMany(dialect: Dialect): Promise<Told> {
  const told: Told = { wrong: [], alone: [] };
  for (let done = 0; done < count; done += together) {
    const batch = first + done / together;
    const found = await runBatch(dialect, batch, Math.min(together, count - done));
    told.wrong.push(...found.map(({ says }) => says));
    for (const { index, says, lines } of found.slice(0, mostToldAlone - told.alone.length)) {
      // What is right alone is told as it was among the others.
      const alone = await tellAlone(dialect, batch, index);
      told.alone.push(alone ?? [`${says}; told alone it is right`, ...lines].join('\n'));
    }
  }
  return told;
}

async function tellOne(dialect: Dialect, index: number): Promise<Told> {
  const alone = await tellAlone(dialect, first, index);
  return alone === null ? { wrong: [], alone: [] } : { wrong: [what], alone: [alone] };
}
