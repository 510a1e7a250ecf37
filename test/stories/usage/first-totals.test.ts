import { expect, it } from 'vitest';
import { decideHeld } from '../../../src/usage/due/decide-held.ts';
import { listHeld } from '../../../src/usage/due/held-store.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';

const [trainerId, memberId] = ['ada', 'mada'];
const minuteMs = 60_000;
const by = { actor: 'ada', at: '' };

describeAnyDatabase('an account with 500 tasks from before', (openFresh) => {
  async function openTotals() {
    const world = await openUsageWorld(await openFresh());
    const { engine, tool, sandbox, jobId, ctx } = world;
    await world.link('signs');
    // Another trainer, so that the work scope is read.
    world.hire();
    await world.learn();
    let contractId = '';
    return {
      ...world,
      /** The tool shows so many tasks, which are read and reported. */
      async show(tasks: number) {
        tool.totals.set(memberId, tasks);
        engine.clock.advance(minuteMs);
        await world.read();
        return await world.report();
      },
      async hire() {
        engine.clock.advance(minuteMs);
        ({ contractId } = sandbox.hire({ jobId, trainers: [{ opentrainUserId: trainerId }] }));
        await world.learn();
      },
      tasks: () => world.consumed(contractId).tasks,
      held: async () => (await listHeld(ctx)).map(({ counts, reason, state }) => `${counts.tasks} ${reason} ${state}`),
      async decide(isTheirs: boolean) {
        const [one] = await listHeld(ctx);
        await decideHeld(ctx, by, one?.id ?? '', isTheirs ? contractId : null);
        return await world.report();
      },
    };
  }

  it('reports only the tasks since, if it was read before the contract began', async () => {
    const { show, hire, tasks, held } = await openTotals();
    await show(480);
    await show(500);
    await hire();
    expect(await show(500)).toMatchObject({ outcome: 'clean', sent: 0 });
    expect(await show(512)).toMatchObject({ outcome: 'applied', sent: 1 });
    expect([tasks(), await held()]).toEqual([12, []]);
  });

  it('holds them and sends what came since, if it was never read before', async () => {
    const { show, hire, tasks, held } = await openTotals();
    await hire();
    expect(await show(500)).toMatchObject({ outcome: 'held', sent: 0, held: 1 });
    expect(await show(512)).toMatchObject({ sent: 1, held: 1 });
    expect([tasks(), await held()]).toEqual([12, ['500 first_total held']]);
  });

  it('sends them if it was never read before and an operator assigns them', async () => {
    const { show, hire, tasks, held, decide, engine } = await openTotals();
    await hire();
    await show(500);
    engine.clock.advance(20 * 24 * 60 * minuteMs);
    await show(512);
    expect(await decide(true)).toMatchObject({ sent: 1, held: 0 });
    expect([tasks(), await held()]).toEqual([512, ['500 first_total assigned']]);
    expect(await show(513)).toMatchObject({ sent: 1 });
    expect(tasks()).toBe(513);
  });

  it('never sends them if it was never read before and an operator discards them', async () => {
    const { show, hire, tasks, held, decide } = await openTotals();
    await hire();
    await show(500);
    expect(await decide(false)).toMatchObject({ outcome: 'clean', held: 0 });
    await show(512);
    expect([tasks(), await held()]).toEqual([12, ['500 first_total discarded']]);
  });

  it.each([
    ['reports all of them if Gangway made it after the hire', 0, 512, []],
    ['holds them if Gangway made it before the hire', -60 * minuteMs, 12, ['500 first_total held']],
  ])('%s', async (_, ms, reported, waiting) => {
    const { show, hire, tasks, held, engine } = await openTotals();
    await hire();
    const { kysely } = engine.database;
    const createdAt = new Date(engine.clock.now().getTime() + ms).toISOString();
    const account = { tool: 'studio', accountId: memberId, isOurs: true, seenAt: createdAt, trainerId };
    await kysely.insertInto('account').values(account).execute();
    const memberships = kysely.selectFrom('membership').select('id').where('memberId', '=', memberId);
    const { id: membershipId } = await memberships.executeTakeFirstOrThrow();
    const receipt = { membershipId, generation: 1, operation: 'add', outcome: 'added', createdAt } as const;
    await kysely.insertInto('receipt').values(receipt).execute();
    await show(500);
    await show(512);
    expect([tasks(), await held()]).toEqual([reported, waiting]);
  });
});
