import { describe, expect, it } from 'vitest';
import { runBatch, tellAlone, together } from '../../support/stories/run-stories.ts';
import { anyDialects, tries } from '../../support/tries.ts';

/** Of the first batch that `npm run test:stories` tells: always the same, so that red is the change at hand. */
const batch = 1;

describe.each(anyDialects)('any story ($name)', (dialect) => {
  it('ends no access wrongly, at any moment', async () => {
    const [wrong] = await runBatch(dialect, batch, tries(together));
    if (wrong === undefined) return;
    const alone = await tellAlone(dialect, batch, wrong.index);
    expect.fail(alone ?? `${wrong.says}; alone it is right`);
  }, 900_000);
});
