import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine } from '../support/engine-harness.ts';
import { liveTogether } from '../support/live-together.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { expectTruth, storyOf } from '../support/stories.ts';
import { tries } from '../support/tries.ts';

/** So many that know nothing of each other share a database at a time. */
const together = 25;
const batches = tries(20);

const shortStory = storyOf({ maxSteps: 7, afterMin: [0, 0, 10, 20], delaysMin: [0, 0, 10, 30] });

/** A brake that is wide open: it is not what this is about. */
const limits = { max: 1_000_000, maxFraction: 1000 };

describeEachDatabase('whatever is lost, late, repeated or reordered', (openFresh) => {
  it('ends in the roster that is true, once the marketplace has been read', async () => {
    const engine = createEngine(await openFresh(), { limits });
    const tool = createMemoryTool();
    let runs = 0;
    const several = fc.array(shortStory, { minLength: together, maxLength: together });
    await fc.assert(
      fc.asyncProperty(several, async (stories) => {
        runs += 1;
        for (const { story, told, roster } of await liveTogether(
          engine,
          tool,
          stories,
          `${runs}`,
        )) {
          expectTruth(roster, told, story);
        }
      }),
      { numRuns: batches },
    );
    expect(runs * together).toBeGreaterThanOrEqual(tries(500));
  }, 300_000);
});
