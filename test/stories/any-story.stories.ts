import { expect, it } from 'vitest';
import { type Dialect, describeEachDialect } from '../support/databases.ts';
import { runBatch, tellAlone, together } from '../support/stories/run-stories.ts';

/**
 * Stories by the thousand, on both databases: `STORIES=500 npm run test:stories` tells so many on
 * each. They are always the same, so that one which is red can be run again, by the person who is to mend
 * it and on any machine; `STORIES_SEED=7` begins with others, at the seventh batch, and
 * `STORIES_SEED=7.12` tells that one alone, shortened, minute by minute.
 */
const count = Number(process.env['STORIES'] ?? 10_000);
const [first = 1, only] = (process.env['STORIES_SEED'] ?? '1').split('.').map(Number);
const mostShownAlone = Number(process.env['STORIES_SHOW'] ?? 3);

const what = only === undefined ? `${count} from batch ${first}` : `${first}.${only} alone`;

describeEachDialect('any story', (dialect) => {
  it(`ends no access wrongly, at any moment: ${what}`, async () => {
    const { wrong, alone } = only === undefined ? await tellMany(dialect) : await tellOne(dialect, only);
    expect(wrong, alone.join('\n\n')).toEqual([]);
  });
});

interface Verdicts {
  wrong: string[];
  /** The first of them as they are alone. */
  alone: string[];
}

async function tellMany(dialect: Dialect): Promise<Verdicts> {
  const verdicts: Verdicts = { wrong: [], alone: [] };
  for (let done = 0; done < count; done += together) {
    const batch = first + done / together;
    const found = await runBatch(dialect, batch, Math.min(together, count - done));
    verdicts.wrong.push(...found.map(({ says }) => says));
    for (const { index, says, lines } of found.slice(0, mostShownAlone - verdicts.alone.length)) {
      // What is right alone is reported as it was among the others.
      const alone = await tellAlone(dialect, batch, index);
      verdicts.alone.push(alone ?? [`${says}; alone it is right`, ...lines].join('\n'));
    }
  }
  return verdicts;
}

async function tellOne(dialect: Dialect, index: number): Promise<Verdicts> {
  const alone = await tellAlone(dialect, first, index);
  return alone === null ? { wrong: [], alone: [] } : { wrong: [what], alone: [alone] };
}
