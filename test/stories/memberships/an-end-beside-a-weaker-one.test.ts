import { expect, it } from 'vitest';
import { toInstant } from '../../../src/lib/clock.ts';
import { createEngine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const minuteMs = 60_000;
const two = ['one', 'two'] as const;

describeAnyDatabase('a delivered end', (openFresh) => {
  it("acts at once, even if the trainer's removal is already held for a weaker reason", async () => {
    const engine = createEngine(await openFresh());
    const about = (name: string) => ({ contract: name, trainer: name });
    for (const name of two) {
      await engine.apply([fullEvent({ type: 'contract.started', ...about(name) })]);
    }
    const { kysely } = engine.database;
    const member = { isOurs: true, memberId: 'm1', state: 'active', nextAttemptAt: null } as const;
    await kysely.updateTable('membership').set(member).execute();
    await engine.apply([fullEvent({ type: 'project_link.removed' })]);
    await engine.pass(20 * minuteMs);
    expect((await engine.membershipRows()).map(({ state }) => state)).toEqual(['held', 'held']);

    const createdAt = toInstant(engine.clock.now());
    await engine.apply([fullEvent({ type: 'contract.ended', createdAt, ...about('one') })]);
    await engine.brake();
    expect(await engine.membershipRows()).toMatchObject([
      { trainerId: 'one', state: 'removing', cause: 'contract_ended', removeAfter: null },
      { trainerId: 'two', state: 'held', cause: 'link_removed' },
    ]);
    expect(await engine.rows('removal')).toMatchObject([{ clearance: 'delivered' }]);
  });
});
