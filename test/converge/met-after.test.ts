import { beforeEach, expect, it } from 'vitest';
import { listMetAfter } from '../../src/converge/receipt-store.ts';
import { inTransaction } from '../../src/db/database.ts';
import { AppError } from '../../src/domain/errors.ts';
import { emptyContract, emptyEvidence, emptyLink, toPair } from '../../src/domain/evidence.ts';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import { hasPostponed } from '../../src/memberships/derivation-store.ts';
import { removeAgain } from '../../src/memberships/look-store.ts';
import { adoptMember } from '../../src/memberships/ownership-store.ts';
import { decidePlan } from '../../src/operations/decide-plan.ts';
import { listPlans } from '../../src/removals/plan-store.ts';
import { claimDue, converge } from '../support/converging.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { minutes } from '../support/incident.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const seconds = 1000;
const longAgo = '2000-01-01T00:00:00.000Z';
const started = fullEvent({ type: 'contract.started' });
const ended = fullEvent({ type: 'contract.ended' });

describeAnyDatabase('how long a trainer waits for what is wanted', (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createMemoryTool();
  });

  /** What each settled membership has waited, in milliseconds, where the tool now shows it for the first time. */
  async function convergeAll(): Promise<(number | undefined)[]> {
    await engine.brake();
    const claims = await claimDue(engine);
    const results: (number | undefined)[] = [];
    for (const claim of claims) results.push((await converge(engine, tool, claim))?.metAfterMs ?? undefined);
    return results;
  }

  async function unmetSince(): Promise<(string | null)[]> {
    return (await engine.membershipRows()).map((row) => row.unmetSince);
  }

  async function lookAgain(): Promise<void> {
    const nextAttemptAt = toInstant(engine.clock.now());
    await engine.database.kysely.updateTable('membership').set({ nextAttemptAt }).execute();
  }

  it('counts from when the delivery was received, not from when it was handled', async () => {
    await engine.deliver([started]);
    engine.clock.advance(40 * seconds);
    await engine.takeIn();
    engine.clock.advance(20 * seconds);
    expect(await convergeAll()).toEqual([60 * seconds]);
  });

  it('counts from the first of several deliveries that are handled together', async () => {
    await engine.deliver([started]);
    engine.clock.advance(30 * seconds);
    await engine.deliver([fullEvent({ type: 'contract.started', contract: 'cmc2' })]);
    await engine.takeIn();
    expect(await convergeAll()).toEqual([30 * seconds]);
  });

  it('counts once, however often the tool is looked at afterwards', async () => {
    await engine.apply([started]);
    expect(await convergeAll()).toEqual([0]);
    expect(await unmetSince()).toEqual([null]);
    engine.clock.advance(5 * minutes);
    await lookAgain();
    expect(await convergeAll()).toEqual([undefined]);
    tool.unseat('street-signs', 'cmu1');
    await lookAgain();
    expect(await convergeAll()).toEqual([undefined]);
  });

  it('goes on while attempts fail, and while the address is missing', async () => {
    await engine.apply([fullEvent({ type: 'contract.started', workEmail: null })]);
    engine.clock.advance(10 * seconds);
    await engine.apply([fullEvent({ type: 'contract.started', id: '2' })]);
    tool.before = (call) => {
      if (call === 'add') throw new AppError('unavailable', 'The tool did not answer');
    };
    expect(await convergeAll()).toEqual([undefined]);
    tool.before = () => undefined;
    engine.clock.advance(50 * seconds);
    await lookAgain();
    expect(await convergeAll()).toEqual([60 * seconds]);
  });

  it('counts from the merge of a reading, also for trainers who are derived later', async () => {
    const numbers = Array.from({ length: 150 }, (_, number) => number);
    const at = toInstant(engine.clock.now());
    const link = { ...emptyLink('acme', 'cml1'), seenAt: at, provisioningMode: 'PARTNER_WEBHOOK' };
    await engine.merge({
      ...emptyEvidence(),
      links: [{ ...link, externalProjectId: 'street-signs' }],
      contracts: numbers.map((number) => ({ ...emptyContract('acme', `c${number}`), activeReadAt: at })),
      pairs: numbers.map((number) => toPair('acme', `c${number}`, 'cml1', at)),
      participations: numbers.map((number) => {
        return { install: 'acme', contractId: `c${number}`, trainerId: `t${number}`, seenAt: at, absences: null };
      }),
    });
    const first = await unmetSince();
    expect(first.length).toBeGreaterThan(0);
    expect(first.length).toBeLessThan(150);
    engine.clock.advance(5 * minutes);
    while (await hasPostponed(engine)) await engine.merge(emptyEvidence());
    expect(await unmetSince()).toEqual(numbers.map(() => at));
  });

  it('counts a lock-out from when the end was received', async () => {
    await engine.apply([started]);
    await convergeAll();
    engine.clock.advance(5 * minutes);
    await engine.deliver([ended]);
    engine.clock.advance(40 * seconds);
    await engine.takeIn();
    expect(await convergeAll()).toEqual([40 * seconds]);
    expect(await unmetSince()).toEqual([null]);
    expect(await listMetAfter(engine.database.kysely, longAgo)).toMatchObject([
      { isAccess: false, ms: 40 * seconds },
      { isAccess: true, ms: 0 },
    ]);
    const now = toInstant(engine.clock.now());
    expect(await listMetAfter(engine.database.kysely, now)).toMatchObject([{ isAccess: false }]);
  });

  it('counts a lock-out from the end of the grace period, if there is one', async () => {
    await engine.apply([started]);
    await convergeAll();
    await engine.apply([fullEvent({ type: 'project_link.removed' })]);
    while (await hasPostponed(engine)) await engine.merge(emptyEvidence());
    engine.clock.advance(16 * minutes);
    expect(await convergeAll()).toEqual([1 * minutes]);
  });

  it('starts again with each decision', async () => {
    await engine.apply([started]);
    await convergeAll();
    await engine.apply([ended]);
    await convergeAll();
    engine.clock.advance(60 * minutes);
    const createdAt = toInstant(engine.clock.now());
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc2', id: '3', createdAt })]);
    engine.clock.advance(7 * seconds);
    expect(await convergeAll()).toEqual([7 * seconds]);
  });

  it('counts the time that the brake has held a removal', async () => {
    const hires = [1, 2].map((one) =>
      fullEvent({ type: 'contract.started', contract: `cmc${one}`, trainer: `cmu${one}`, id: `1${one}` }),
    );
    await engine.apply(hires);
    await convergeAll();
    engine.clock.advance(2 * 60 * minutes);
    await engine.apply([fullEvent({ type: 'project_link.removed' })]);
    while (await hasPostponed(engine)) await engine.merge(emptyEvidence());
    engine.clock.advance(15 * minutes);
    expect(await convergeAll()).toEqual([]);
    const [plan] = await listPlans(engine, { state: 'open' });
    engine.clock.advance(30 * minutes);
    const by = { actor: 'operator', at: toInstant(engine.clock.now()) };
    await decidePlan(engine, by, 'approve', plan?.id ?? 0);
    expect(await convergeAll()).toEqual([30 * minutes, 30 * minutes]);
  });

  it('counts no lock-out of a trainer who was never in, or who stays', async () => {
    await engine.apply([started]);
    await engine.apply([ended]);
    expect(await unmetSince()).toEqual([null]);
    tool.seed('street-signs', 'cmu5');
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc5', trainer: 'cmu5', id: '5' })]);
    await convergeAll();
    await engine.apply([fullEvent({ type: 'contract.ended', contract: 'cmc5', trainer: 'cmu5', id: '6' })]);
    expect(await convergeAll()).toEqual([undefined]);
    expect(await unmetSince()).toEqual([null, null]);
  });

  it('counts nothing for a worker whose claim was lost meanwhile', async () => {
    await engine.apply([started]);
    tool.after = async (call) => {
      if (call === 'add') await engine.apply([ended]);
    };
    expect(await convergeAll()).toEqual([undefined]);
    expect(tool.members('street-signs')).toEqual(['cmu1']);
    expect(await listMetAfter(engine.database.kysely, longAgo)).toEqual([]);
    engine.clock.advance(20 * seconds);
    expect(await convergeAll()).toEqual([20 * seconds]);
  });

  it('counts a removal that an operator or a list of the tool asks for', async () => {
    const { database } = engine;
    tool.seed('street-signs', 'cmu1');
    await engine.apply([started]);
    await engine.apply([ended]);
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc2', id: '3' })]);
    await convergeAll();
    await engine.apply([fullEvent({ type: 'contract.ended', contract: 'cmc2', id: '4' })]);
    expect(await convergeAll()).toEqual([undefined]);
    const [{ id, memberId } = { id: 0, memberId: null }] = await engine.membershipRows();
    const by = { actor: 'operator', at: toInstant(engine.clock.now()) };
    await adoptMember(engine, id, by);
    engine.clock.advance(3 * seconds);
    expect(await convergeAll()).toEqual([3 * seconds]);

    tool.seed('street-signs', 'cmu1');
    const removeAfter = instantIn(engine.clock, 15 * minutes);
    const again = { membershipId: id, memberId: memberId ?? '', removeAfter };
    await inTransaction(database, (tx) => removeAgain(tx, again, toInstant(engine.clock.now())));
    engine.clock.advance(15 * minutes + 30 * seconds);
    expect(await convergeAll()).toEqual([30 * seconds]);
  });
});
