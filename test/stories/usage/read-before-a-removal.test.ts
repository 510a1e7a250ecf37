import { expect, it } from 'vitest';
import { claimMemberships } from '../../../src/converge/claim-store.ts';
import { settleMembership } from '../../../src/converge/settle-store.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { holdLock } from '../../../src/db/lock.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { describeRequired } from '../../../src/domain/required-readings.ts';
import { instantIn, toInstant } from '../../../src/lib/clock.ts';
import type { ToolScopeOf } from '../../../src/removals/final-reading-store.ts';
import { decidePlanItems } from '../../../src/removals/plan-store.ts';
import { loadRequired } from '../../../src/removals/reading-store.ts';
import { brakeDue } from '../../../src/removals/removal-worker.ts';
import { readNextScope } from '../../../src/usage/read/read-scope.ts';
import { countDueScopes, scopeOfLink } from '../../../src/usage/read/scope-store.ts';
import { reportNextFinal } from '../../../src/usage/report/report-worker.ts';
import type { Engine } from '../../support/engine-harness.ts';
import { storageOf } from '../../support/storage-of.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { openUsageWorld, type UsageWorld } from '../../support/usage-harness.ts';

const minuteMs = 60_000;

describeAnyDatabase('before a trainer is removed', (openFresh) => {
  /** One of two trainers, whose contract has ended. */
  async function openEnd() {
    const world = await openUsageWorld(await openFresh());
    const { engine, sandbox } = world;
    await world.link('signs');
    const [leaving, staying] = [world.hire(), world.hire()];
    await world.learn();
    await world.read();
    engine.clock.advance(minuteMs);
    sandbox.endContract(leaving.contractId);
    await world.learn();
    return { ...world, leaving, staying, ...watchEnds(world) };
  }

  function watchEnds({ engine, ctx }: UsageWorld) {
    const brake = () => brakeDue(engine, { ...engine.braking, scopeOf: (link) => scopeOfLink(ctx, link) });
    const isCleared = async () => {
      await brake();
      const rows = await engine.membershipRows();
      return rows.some((row) => row.clearedGeneration !== null);
    };
    const take = async () => await takeOut(engine);
    return { isCleared, take };
  }

  /** @returns what the receipt says */
  async function takeOut({ database, box, clock, rows }: Engine): Promise<string | null> {
    const now = toInstant(clock.now());
    const order = { tool: 'studio', install: 'acme', token: 't', now, limit: 1, exclusiveBy: [] };
    const leasedUntil = '9999-01-01T00:00:00.000Z';
    const [claim] = await claimMemberships({ database, box }, { ...order, leasedUntil });
    if (claim === undefined) throw new Error('nothing to claim');
    const removed = { operation: 'remove', outcome: 'removed', state: 'removed' } as const;
    await settleMembership({ database, box }, claim, { ...removed, nextAttemptAt: null }, now);
    const receipts = (await rows('receipt')) as { outcome: string; message: string | null }[];
    return receipts.find(({ outcome }) => outcome === 'removed')?.message ?? null;
  }

  it('their work is read and reported', async () => {
    const { engine, isCleared, work, read, report, consumed, leaving, ctx } = await openEnd();
    expect(await isCleared()).toBe(false);
    expect(await countDueScopes(ctx, toInstant(engine.clock.now()))).toBe(1);
    work('last', leaving.memberId, { seconds: 60, labels: 2 });
    await read();
    expect(await isCleared()).toBe(true);
    await report();
    expect(consumed(leaving.contractId)).toEqual({ seconds: 60, tasks: 1, labels: 2 });
  });

  it('an operator can see what the removal waits for, and how long', async () => {
    const { engine, isCleared, read, ctx } = await openEnd();
    expect(await isCleared()).toBe(false);
    const latest = (ms: number) => `at ${instantIn(engine.clock, ms)} at the latest`;
    const waits = async () => {
      const required = await loadRequired(ctx, await engine.membershipRows(), (link) => scopeOfLink(ctx, link));
      return [...required.values()].map(describeRequired);
    };
    expect(await waits()).toEqual([`once their work in signs has been read, ${latest(5 * minuteMs)}`]);
    await read();
    expect(await waits()).toEqual([`once the active contracts of acme have been listed, ${latest(30_000)}`]);
  });

  it('their work is read only after an operator approves, if the brake holds the removal', async () => {
    const world = await openUsageWorld(await openFresh());
    const { engine, sandbox } = world;
    await world.link('signs');
    const hired = [world.hire(), world.hire()];
    await world.learn();
    await world.read();
    engine.clock.advance(minuteMs);
    for (const { contractId } of hired) sandbox.endContract(contractId);
    await world.learn();
    const { isCleared } = watchEnds(world);
    const now = toInstant(engine.clock.now());
    const states = async () => (await engine.membershipRows()).map(({ state }) => state);

    expect(await isCleared()).toBe(false);
    expect([await states(), await countDueScopes(world.ctx, now)]).toEqual([['held', 'held'], 0]);
    await inTransaction(engine.database, (tx) => decidePlanItems(storageOf(engine.database), tx, 1, 'approved', now));
    expect(await isCleared()).toBe(false);
    expect([await states(), await countDueScopes(world.ctx, now)]).toEqual([['held', 'held'], 1]);
    await world.read();
    expect(await isCleared()).toBe(true);
  });

  it('Gangway waits five minutes for the reading, and then says that it failed', async () => {
    const { engine, isCleared, tool, work, leaving, read, take } = await openEnd();
    tool.breaksAfter = 0;
    work('last', leaving.memberId);
    expect(await isCleared()).toBe(false);
    await read();
    engine.clock.advance(5 * minuteMs - 1);
    expect(await isCleared()).toBe(false);
    engine.clock.advance(1);
    expect(await isCleared()).toBe(true);
    expect(await take()).toMatch(/could not read the trainer's work before.* in signs \(The export broke off\)\. /);
  });

  it('Gangway says nothing if the reading came late, but before they were out', async () => {
    const { engine, isCleared, tool, work, leaving, read, take } = await openEnd();
    tool.breaksAfter = 0;
    work('last', leaving.memberId);
    expect(await isCleared()).toBe(false);
    engine.clock.advance(5 * minuteMs);
    expect(await isCleared()).toBe(true);
    tool.breaksAfter = null;
    await read();
    expect(await take()).toBe(null);
  });

  /** Two projects whose people are all in one group, as in Label Studio; one of them is gone. */
  async function openTwoProjects() {
    const world = await openUsageWorld(await openFresh());
    const { engine, tool } = world;
    tool.isOneGroup = true;
    const [signsJob, lampsJob] = [world.openJob(), world.openJob()];
    await world.link('signs', signsJob);
    await world.link('lamps', lampsJob);
    const hireBoth = () => [world.hire(signsJob), world.hire(lampsJob)] as const;
    const [atSigns, atLamps] = hireBoth();
    hireBoth();
    await world.learn();
    await world.read();
    engine.clock.advance(minuteMs);
    return { ...world, lampsJob, atSigns, atLamps, ...watchEnds(world) };
  }

  it('Gangway waits only for work scopes where they may have worked', async () => {
    const world = await openTwoProjects();
    const { sandbox, tool, atSigns, learn, isCleared, read, take } = world;
    tool.goneScopes.add('lamps');
    sandbox.endContract(atSigns.contractId);
    await learn();
    expect(await isCleared()).toBe(false);
    await read();
    expect(await isCleared()).toBe(true);
    expect(await take()).toBe(null);
  });

  it('Gangway names a work scope that is gone, with the answer of the tool', async () => {
    const world = await openTwoProjects();
    const { engine, sandbox, tool, atLamps, learn, isCleared, read, take } = world;
    tool.goneScopes.add('lamps');
    sandbox.endContract(atLamps.contractId);
    await learn();
    expect(await isCleared()).toBe(false);
    await read();
    expect(await isCleared()).toBe(false);
    engine.clock.advance(5 * minuteMs);
    expect(await isCleared()).toBe(true);
    expect(await take()).toMatch(/ in lamps \(There is no lamps\)\. /);
  });

  it('Gangway does not wait for a project that was read after its last work could count', async () => {
    const world = await openTwoProjects();
    const { engine, sandbox, tool, atSigns, lampsJob, learn, isCleared, read } = world;
    const trainers = [{ opentrainUserId: atSigns.trainerId }];
    const { contractId } = sandbox.hire({ jobId: lampsJob, trainers });
    await learn();
    sandbox.endContract(contractId);
    await learn();
    engine.clock.advance(25 * 60 * minuteMs);
    await read();
    tool.goneScopes.add('lamps');
    engine.clock.advance(minuteMs);
    sandbox.endContract(atSigns.contractId);
    await learn();
    expect(await isCleared()).toBe(false);
    await read();
    expect(await isCleared()).toBe(true);
  });

  it('Gangway does not wait for a work scope that refused the reading before', async () => {
    const { engine, isCleared, tool, ctx } = await openEnd();
    const { signal } = new AbortController();
    /** The next try that is due. */
    const tryAgain = async () => {
      engine.clock.advance(10_000);
      expect(await readNextScope(ctx, signal)).toBe(true);
    };
    const refuses = (error: AppError) => {
      tool.adapter.readUsage = () => {
        throw error;
      };
    };
    expect(await isCleared()).toBe(false);
    refuses(new AppError('forbidden', 'The token is refused'));
    for (const _ of [1, 2]) await tryAgain();
    expect(await isCleared()).toBe(false);
    refuses(new AppError('unavailable', 'It is down'));
    await tryAgain();
    expect(await isCleared()).toBe(false);
    refuses(new AppError('invalid', 'It records no events'));
    await tryAgain();
    expect(await isCleared()).toBe(true);
  });

  it('Gangway does not wait for a tool without work to read, or a scope where no trainer ever worked', async () => {
    const { engine, ctx } = await openEnd();
    const stageBy = async (scopeOf: ToolScopeOf) => {
      const [required] = (await loadRequired(ctx, await engine.membershipRows(), scopeOf)).values();
      return required?.stage;
    };
    const scopeOf: ToolScopeOf = (link) => scopeOfLink(ctx, link);
    expect(await stageBy(scopeOf)).toBe('work');
    expect(await stageBy(() => undefined)).toBe('lists');
    expect(await stageBy(() => ({ install: 'acme', tool: 'list', scope: 'signs' }))).toBe('lists');
    await engine.database.kysely.deleteFrom('reason').execute();
    expect(await stageBy(scopeOf)).toBe('lists');
  });

  /** Both have worked, which is to be read. */
  async function openWork() {
    const world = await openEnd();
    const { ctx, leaving, staying, isCleared } = world;
    for (const { memberId } of [leaving, staying]) world.work(`last of ${memberId}`, memberId, { seconds: 60 });
    expect(await isCleared()).toBe(false);
    const { signal } = new AbortController();
    const reportFinal = () => reportNextFinal(ctx, async () => undefined, signal);
    const seconds = ({ contractId }: { contractId: string }) => world.consumed(contractId).seconds;
    return { ...world, endedAt: toInstant(world.engine.clock.now()), reportFinal, seconds };
  }

  it('their last work is reported at once and once, for the ended contract only', async () => {
    const { engine, reportFinal, read, seconds, leaving, staying, requests } = await openWork();
    expect(await reportFinal()).toBe(false);
    await read();
    expect(await reportFinal()).toBe(true);
    expect([seconds(leaving), seconds(staying)]).toEqual([60, 0]);
    // The log tells it from a report of the schedule, which has waited for all readings.
    expect(engine.log.lines().at(-1)).toMatchObject({ msg: 'Usage was reported', contractId: leaving.contractId });
    expect(await reportFinal()).toBe(false);
    expect(requests).toHaveLength(1);
  });

  it('their last work is reported by one of several instances', async () => {
    const { reportFinal, read, requests } = await openWork();
    await read();
    await Promise.all([reportFinal(), reportFinal(), reportFinal()]);
    expect(requests).toHaveLength(1);
  });

  it('their last report is tried again after a crash, and later work is left to the schedule', async () => {
    const { engine, endedAt, reportFinal, read, report, seconds, leaving, fates, work } = await openWork();
    await read();
    fates.push('crash');
    expect(await reportFinal()).toBe(true);
    expect([seconds(leaving), await reportFinal()]).toEqual([0, false]);
    engine.clock.advance(minuteMs);
    expect(await reportFinal()).toBe(true);
    expect(seconds(leaving)).toBe(60);
    work('found later', leaving.memberId, { seconds: 30, at: endedAt });
    await read();
    expect([await reportFinal(), seconds(leaving)]).toEqual([false, 60]);
    await report();
    expect(seconds(leaving)).toBe(90);
  });

  it('their last report is taken over from an instance that died', async () => {
    const { engine, ctx, reportFinal, read, seconds, leaving } = await openWork();
    await read();
    const until = new Date(engine.clock.now().getTime() + 5 * minuteMs).toISOString();
    const name = `usage:${JSON.stringify(['acme', leaving.contractId])}`;
    await holdLock(ctx.database, name, 'dead', engine.clock.now().toISOString(), until);
    expect([await reportFinal(), seconds(leaving)]).toEqual([true, 0]);
    engine.clock.advance(5 * minuteMs);
    expect([await reportFinal(), seconds(leaving)]).toEqual([true, 60]);
  });
});
