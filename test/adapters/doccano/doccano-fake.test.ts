import { describe, it } from 'vitest';
import { doccanoFacts } from '../../support/doccano-facts.ts';
import { openDoccanoFake } from '../../support/doccano-fake.ts';

/** The same is asked of the real one: `npm run test:tools:doccano`. */
describe('the fake doccano', () => {
  it.each(doccanoFacts)('$name', async ({ run }) => {
    await run(await openDoccanoFake());
  });
});
