import { afterAll, describe, it } from 'vitest';
import { histories } from './histories.ts';
import { walkHistory, walkLossesAndRepeats } from './walk-history.ts';

/** `ORDERS=brief`, as `.ci/run` has it, takes the one world in which readings and tool do the most. */
const isBrief = process.env['ORDERS'] === 'brief';
const worlds = [true, false]
  .flatMap((asksAsItHappened) => [true, false].map((isPrompt) => ({ asksAsItHappened, isPrompt })))
  .slice(0, isBrief ? 1 : undefined);

const named = histories.map((history) => [history.name, history] as const);

describe('every order of what arrives, with each arrival lost and with each repeated', () => {
  const total = { orders: 0, states: 0 };

  it.each(named)('ends no access wrongly and loses no end: %s', async (_, history) => {
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
