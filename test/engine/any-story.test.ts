import { expect, it } from 'vitest';
import { describeEachDialect } from '../support/databases.ts';
import { runBatch, tellAlone, together } from '../support/stories/run-stories.ts';
import { tries } from '../support/tries.ts';

/**
 * A few hundred of the stories that `npm run test:stories` tells by the thousand: always the same, so
 * that what is red was made red by the change at hand.
 */
const batches = tries(3);

describeEachDialect('any story', (dialect) => {
  it('ends nobody wrongly, at any moment', async () => {
    for (let batch = 1; batch <= batches; batch += 1) {
      const [wrong] = await runBatch(dialect, batch, together);
      if (wrong === undefined) continue;
      const alone = await tellAlone(dialect, batch, wrong.index);
      expect.fail(alone ?? `${wrong.says}; told alone it is right`);
    }
  }, 900_000);
});
