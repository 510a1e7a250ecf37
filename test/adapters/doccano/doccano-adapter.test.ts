import { describe, it } from 'vitest';
import { doccanoFacts } from '../../support/doccano-facts.ts';
import { openDoccanoFake } from '../../support/doccano-fake.ts';
import { doccanoStories } from '../../support/doccano-stories.ts';

/** `npm run test:tools:doccano` runs the same stories against the real doccano. */
describe.each([
  ['the adapter doccano', doccanoStories],
  ['the fake doccano', doccanoFacts],
])('%s', (_what, cases) => {
  it.each(cases)('$name', async ({ run }) => {
    await run(await openDoccanoFake());
  });
});
