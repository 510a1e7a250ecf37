import { describe, it } from 'vitest';
import { openDoccanoFake } from '../../support/doccano-fake.ts';
import { doccanoStories } from '../../support/doccano-stories.ts';

describe('the adapter doccano', () => {
  it.each(doccanoStories)('$name', async ({ run }) => {
    await run(await openDoccanoFake());
  });
});
