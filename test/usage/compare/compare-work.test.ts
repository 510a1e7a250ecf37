import { expect, it } from 'vitest';
import { acceptLowered, decideHeldWork } from '../../../src/operator/decide-work.ts';
import { compareContract, compareWork } from '../../../src/usage/compare/compare-work.ts';
import {
  countComparedDays,
  findHeldDifference,
  lastComparison,
  listComparedDays,
  listDifferences,
} from '../../../src/usage/compare/comparison-store.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { type ItemWork, openUsageWorld } from '../../support/usage-harness.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describeAnyDatabase('the days on which tool and marketplace differ', (openFresh) => {
  async function openWork({ maxLoweredFraction = 1 } = {}) {
    const world = await openUsageWorld(await openFresh(), { maxLoweredFraction });
    const { engine, tool, ctx } = world;
    await world.link('signs');
    const { contractId, memberId, trainerId } = world.hire();
    await world.learn();
    const today = () => engine.clock.now().toISOString().slice(0, 10);
    function work(id: string, seconds: number, by = memberId): void {
      const at = engine.clock.now().toISOString();
      const items = tool.items.get('signs') ?? new Map<string, ItemWork>();
      tool.items.set('signs', items.set(id, { memberId: by, seconds, labels: 1, at }));
    }

    const compare = () => compareWork(ctx, new AbortController().signal);
    const differing = async () => (await listDifferences(ctx, { limit: 100 })).map(({ day, why }) => [day, why]);
    const by = () => ({ actor: 'otto', at: engine.clock.now().toISOString() });
    engine.clock.advance(60_000);
    return {
      ...world,
      contractId,
      memberId,
      trainerId,
      today,
      work,
      compare,
      differing,
      by,
    };
  }

  it('are found with what was seen, what was sent, and why', async () => {
    const { engine, read, report, work, compare, trainerId, contractId, today } = await openWork();
    expect(await lastComparison(engine)).toBeUndefined();
    work('a', 60);
    await read();
    await report();
    work('b', 40);
    await read();
    await compare();
    const counts = (seconds: number, pieces: number) => ({ seconds, tasks: pieces, labels: pieces });
    expect(await listDifferences(engine, { limit: 10 })).toMatchObject([
      {
        install: 'acme',
        contractId,
        trainerId,
        day: today(),
        why: 'not_sent',
        seen: counts(100, 2),
        sent: counts(60, 1),
      },
    ]);
    const days = [{ day: today(), seen: counts(100, 2), sent: counts(60, 1), differing: 1, held: 0 }];
    expect(await listComparedDays(engine, { from: today(), to: today() })).toEqual(days);
    expect(await listComparedDays(engine, { install: 'other', from: today(), to: today() })).toEqual([]);
    expect(await countComparedDays(engine, today())).toBe(1);
    expect(await lastComparison(engine)).toEqual({ at: engine.clock.now().toISOString(), left: 0 });
    await report();
    await compare();
    expect(await listDifferences(engine, { limit: 10 })).toEqual([]);
  });

  it('stay known after they have left the look-back, and a year later no more', async () => {
    const { engine, read, report, work, compare, differing, today, contractId, ctx } = await openWork();
    work('a', 60);
    await read();
    await report();
    work('b', 40);
    await read();
    await compare();
    const found = [[today(), 'not_sent']];
    engine.clock.advance(100 * dayMs);
    await compare();
    expect(await differing()).toEqual(found);
    await compareContract(ctx, { install: 'acme', contractId });
    expect(await differing()).toEqual(found);
    engine.clock.advance(310 * dayMs);
    await compare();
    expect(await differing()).toEqual([]);
  });

  it('are found where a day was refused and nothing of it is seen any more', async () => {
    const { engine, sandbox, read, report, work, compare, differing, today, contractId, trainerId } = await openWork();
    work('a', 60);
    await read();
    sandbox.replaceParticipant(contractId, { leaves: trainerId });
    await report();
    await engine.database.kysely.deleteFrom('usageDay').execute();
    await compare();
    expect(await differing()).toEqual([[today(), 'refused']]);
  });

  it('are gone for a contract whose lowering an operator accepts', async () => {
    const world = await openWork({ maxLoweredFraction: 0.1 });
    const { engine, tool, read, report, work, compare, differing, today, contractId, by, ctx } = world;
    for (const id of ['a', 'b']) work(id, 60);
    await read(true);
    await report();
    tool.items.get('signs')?.delete('a');
    await read(true);
    await report();
    await compare();
    expect(await differing()).toEqual([[today(), 'lowering_held']]);
    await acceptLowered(ctx, by(), { install: 'acme', contractId }, new AbortController().signal);
    expect(await differing()).toEqual([]);
    const acts = await engine.database.kysely.selectFrom('audit').select(['actor', 'action', 'subject']).execute();
    expect(acts).toEqual([{ actor: 'otto', action: 'usage report --accept-lowered', subject: contractId }]);
  });

  it('are final once they have left the look-back: held work can be decided no longer', async () => {
    const { engine, read, work, compare, today } = await openWork();
    work('a', 90_000);
    const day = today();
    await read();
    await compare();
    engine.clock.advance(30 * dayMs);
    await compare();
    expect(await listDifferences(engine, { limit: 10, why: ['held'] })).toMatchObject([{ day, heldId: null }]);
    expect(await listComparedDays(engine, { from: day, to: day })).toMatchObject([{ differing: 1, held: 0 }]);
  });

  it('are each known once, however many compare at once', async () => {
    const { ctx, read, work, compare, differing, today, contractId } = await openWork();
    work('a', 60);
    await read();
    const one = () => compareContract(ctx, { install: 'acme', contractId });
    await Promise.all([compare(), compare(), one(), compare(), one()]);
    expect(await differing()).toEqual([[today(), 'not_sent']]);
  });

  it('are known with what is held, until an operator assigns or discards it', async () => {
    const { engine, read, report, work, compare, contractId, differing, today, by, ctx } = await openWork();
    work('a', 90_000);
    await read();
    await report();
    await compare();
    const [held] = await listDifferences(engine, { limit: 10, why: ['held'] });
    const workedOn = { by: 'scope', tool: 'studio', scope: 'signs' };
    const contracts = [{ install: 'acme', contractId }];
    expect(held).toMatchObject({
      contractId,
      day: today(),
      seen: { seconds: 90_000 },
      held: { reason: 'over_a_day', source: 'tool:studio', workedOn, contracts },
    });
    const days = await listComparedDays(engine, { from: today(), to: today() });
    expect(days).toMatchObject([{ differing: 0, held: 1, seen: { seconds: 90_000 } }]);
    expect(await findHeldDifference(engine, held?.heldId ?? '')).toEqual(held);
    await decideHeldWork(ctx, by(), held?.heldId ?? '', null, held?.trainerId);
    expect(await differing()).toEqual([]);
    await compare();
    expect(await differing()).toEqual([]);
    const acts = await engine.database.kysely.selectFrom('audit').select(['action', 'subject']).execute();
    expect(acts).toEqual([{ action: 'usage held', subject: `${held?.heldId} discarded` }]);
  });
});
