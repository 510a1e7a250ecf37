import { afterAll, describe, it } from 'vitest';
import { histories } from './histories.ts';
import { walkHistory, walkLossesAndRepeats } from './walk-history.ts';

/** `ORDERS=brief`, as in `.ci/run`, uses only the world in which readings and the tool do the most. */
const isBrief = process.env['ORDERS'] === 'brief';
const worlds = [true, false]
  .flatMap((asksAsItHappened) => [true, false].map((isPrompt) => ({ asksAsItHappened, isPrompt })))
  .slice(0, isBrief ? 1 : undefined);

const named = histories.map((history) => [history.name, history] as const);

describe('every order of arrivals, also with each one lost and each one repeated', () => {
  const total = { orders: 0, states: 0 };

  it.each(named)('ends no access by mistake and misses no end: %s', async (_, history) => {
    for (const world of worlds) {
      for (const walk of [walkHistory, walkLossesAndRepeats]) {
        const { orders, states } = await walk(history, world);
        total.orders += orders;
        total.states += states;
      }
    }
  });

  afterAll(() => {
    process.stdout.write(`${histories.length} histories, ${total.orders} orders, ${total.states} states checked\n`);
  });
});
