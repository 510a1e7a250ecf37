import { afterAll, expect, it } from 'vitest';
import { describe as describeSeed, openWeeks } from './live-week.ts';
import { drawPlan } from './plan.ts';

/** `npm run test:weeks -- --weeks 10000` lives through more of them, and `--seed 7 --weeks 1` through one again. */
const count = 200;
const weeks = await openWeeks();

afterAll(() => weeks.close());

it(`names every difference between tools and marketplace, and no other, at the end of ${count} random histories`, async () => {
  for (let seed = 1; seed <= count; seed += 1) {
    const faults = await weeks.live(drawPlan(seed));
    if (faults.length > 0) expect.fail(await describeSeed(weeks, seed));
  }
});
