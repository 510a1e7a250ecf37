import { beforeEach, expect, it } from 'vitest';
import { keepInvitation, wantRenewals } from '../../../src/converge/invitation-store.ts';
import { listToolTroubles } from '../../../src/converge/tool-trouble-store.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { createStudioWorker, hire, receiptsOf, untilActive } from '../../support/converging.ts';
import { openForTest } from '../../support/databases.ts';
import { createEngine, type Engine, startLoops } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';
import { watchQueries } from '../../support/watch-queries.ts';

describeAnyDialect('a tool that refuses', (dialect) => {
  let engine: Engine;
  let url: string;

  beforeEach(async () => {
    url = await dialect.createMigrated();
    engine = createEngine(openForTest(url));
  });

  it("removes another group's member while one group is refused, and checks the tool once", async () => {
    const tool = createCheckedTool();
    for (const install of ['acme', 'globex']) await engine.apply([inGroup(install, 'contract.started')], install);
    const worker = createStudioWorker(engine, tool.memory);
    startLoops(worker);
    await untilActive(engine, 2);
    tool.memory.before = (_call, subject) => {
      if (subject.startsWith('acme-signs')) throw forbidden;
    };
    await engine.apply([inGroup('acme', 'contract.ended')], 'acme');
    await engine.brake();
    worker.wake();
    await until('it was asked', tool.checks, (checks) => checks === 1);
    await engine.apply([inGroup('globex', 'contract.ended')], 'globex');
    await engine.brake();
    worker.wake();
    await until('the other is out', () => tool.memory.members('globex-signs').length === 0, Boolean);
    expect(tool.memory.members('acme-signs')).toEqual(['of-acme']);
    expect(tool.checks()).toBe(1);
    const states = (await engine.membershipRows()).map(({ trainerId, state }) => [trainerId, state]);
    expect(states).toContainEqual(['of-acme', 'failed']);
    expect(alertsIn(engine)).toEqual([]);
  });

  it('is not paused if the database fails after it passed its check', async () => {
    const tool = createCheckedTool();
    let failures = 0;
    const database = watchQueries(engine.database, {
      'update membership': () => {
        if (tool.checks() === 0 || failures > 0) return;
        failures += 1;
        throw new AppError('unavailable', 'The database is down');
      },
    });
    tool.memory.before = (_call, subject) => {
      if (subject.startsWith('acme-signs')) throw forbidden;
    };
    const worker = createStudioWorker(engine, tool.memory, { database });
    startLoops(worker);
    await engine.apply([inGroup('acme', 'contract.started')], 'acme');
    worker.wake();
    await until('the database has failed', () => failures === 1, Boolean);
    await engine.apply([inGroup('globex', 'contract.started')], 'globex');
    worker.wake();
    await untilActive(engine, 1);
    expect(await listToolTroubles(engine)).toEqual([]);
  });

  it('goes on if the tool renews no invitations for an hour', async () => {
    const tool = createCheckedTool();
    const { adapter } = tool.memory;
    const busy = new AppError('rate_limited', 'The tool answered 429', { retryAfterMs: 60_000 });
    tool.refuse(busy);
    tool.memory.adapter = {
      ...adapter,
      async findMember(group, person, signal) {
        const found = await adapter.findMember(group, person, signal);
        return found && { ...found, isInvited: found.id === 't1' };
      },
      async renewInvitation() {
        throw busy;
      },
    };
    await hire(engine, 2);
    const worker = createStudioWorker(engine, tool.memory);
    startLoops(worker);
    await untilActive(engine, 1);
    const isThere = async (state: string) =>
      (await engine.membershipRows()).filter((row) => row.state === state).length;
    await until('the other is invited', async () => (await isThere('invited')) === 1, Boolean);
    const invited = (await engine.membershipRows()).find(({ state }) => state === 'invited');
    const now = engine.clock.now().toISOString();
    await inTransaction(engine.database, async (tx) => {
      const link = {
        content: { kind: 'link', url: 'https://x.example' },
        expiresAt: null,
      } as const;
      await keepInvitation(engine, tx, invited?.id ?? 0, link, now);
      await wantRenewals(tx, [invited?.id ?? 0], now);
    });
    worker.wake();
    await until('it was refused', async () => (await receiptsOf(engine)).includes('add failed'), Boolean);
    await engine.apply([fullEvent({ type: 'contract.ended', contract: 'c2', trainer: 't2' })]);
    await engine.brake();
    worker.wake();
    await until('the other is out', async () => (await isThere('removed')) === 1, Boolean);
    expect([tool.checks(), alertsIn(engine)]).toEqual([0, []]);
  });

  it('pauses calls to a tool that refuses the token altogether, after one check', async () => {
    const tool = createCheckedTool();
    tool.memory.before = () => {
      throw forbidden;
    };
    tool.refuse(forbidden);
    await engine.apply([inGroup('acme', 'contract.started')], 'acme');
    const worker = createStudioWorker(engine, tool.memory);
    startLoops(worker);
    await until('an operator is alerted', () => alertsIn(engine).length === 1, Boolean);
    const calls = tool.memory.calls.length;
    await engine.apply([inGroup('globex', 'contract.started')], 'globex');
    expect(tool.checks()).toBe(1);
    engine.clock.advance(60_000);
    worker.wake();
    await until('it is probed', tool.checks, (checks) => checks === 2);
    expect(tool.memory.calls).toHaveLength(calls);

    tool.refuse(undefined);
    tool.memory.before = () => undefined;
    engine.clock.advance(60_000);
    worker.wake();
    await untilActive(engine, 2);
    expect(alertsIn(engine)).toHaveLength(1);
  });

  it('retries all members once a tool is well, although the database is down at that moment', async () => {
    const tool = createCheckedTool();
    tool.memory.before = () => {
      throw down;
    };
    tool.refuse(down);
    await hire(engine, 5);
    let isAway = false;
    const database = watchQueries(engine.database, {
      'update membership'() {
        if (!isAway) return;
        isAway = false;
        throw new AppError('unavailable', 'No connection');
      },
    });
    const worker = createStudioWorker(engine, tool.memory, { database });
    startLoops(worker);
    await until('calls are paused', () => alertsIn(engine).length === 1, Boolean);
    // No membership has a next attempt of its own before the end of the test.
    const nextAttemptAt = new Date(engine.clock.now().getTime() + 3_600_000).toISOString();
    await engine.database.kysely.updateTable('membership').set({ nextAttemptAt }).execute();

    tool.refuse(undefined);
    tool.memory.before = () => undefined;
    isAway = true;
    engine.clock.advance(60_000);
    worker.wake();
    await untilActive(engine, 5);
    expect(isAway).toBe(false);
  });

  it('retries at its start the trainers whom the tool refused before, once it accepts us', async () => {
    const tool = createCheckedTool();
    tool.refuse(forbidden);
    tool.memory.before = () => {
      throw forbidden;
    };
    for (const install of ['acme', 'globex']) await engine.apply([inGroup(install, 'contract.started')], install);
    const first = createStudioWorker(engine, tool.memory);
    startLoops(first);
    const failed = async () => (await engine.membershipRows()).filter(({ state }) => state === 'failed').length;
    await until('both are refused', failed, (count) => count === 2);
    await first.stop();
    // The token is mended while nothing runs.
    tool.refuse(undefined);
    tool.memory.before = (_call, subject) => {
      if (subject.startsWith('globex-signs')) throw forbidden;
    };
    engine.clock.advance(60_000);
    const checks = tool.checks();
    startLoops(createStudioWorker(engine, tool.memory));
    await untilActive(engine, 1);
    expect(tool.checks()).toBe(checks + 1);
    await until(
      'the other was asked for again',
      () => receiptsOf(engine),
      (receipts) => receipts.filter((receipt) => receipt === 'add refused').length === 3,
    );
  });

  it('retries once the trainer whom the tool refused just before it accepted us again', async () => {
    const tool = createCheckedTool();
    let refusals = 1;
    tool.memory.before = () => {
      if (refusals-- > 0) throw forbidden;
    };
    await engine.apply([inGroup('acme', 'contract.started')], 'acme');
    startLoops(createStudioWorker(engine, tool.memory));
    await untilActive(engine, 1);
    expect(tool.checks()).toBe(1);
  });

  it('does not check a tool at its start if the tool has refused no trainer', async () => {
    const tool = createCheckedTool();
    await hire(engine, 1);
    startLoops(createStudioWorker(engine, tool.memory));
    await untilActive(engine, 1);
    expect(tool.checks()).toBe(0);
  });
});

const down = new AppError('unavailable', 'The tool answered 503', { status: 503 });
const forbidden = new AppError('forbidden', 'The tool answered 403', { status: 403 });

function inGroup(install: string, type: string): string {
  const names = { contract: `of-${install}`, trainer: `of-${install}`, link: `of-${install}` };
  return fullEvent({ type, ...names, project: `${install}-signs` });
}

/** A tool that counts how often it is checked, and may refuse that. */
function createCheckedTool() {
  const memory = createMemoryTool();
  let checks = 0;
  let refusal: AppError | undefined;
  memory.adapter.check = async () => {
    checks += 1;
    if (refusal !== undefined) throw refusal;
    return [];
  };
  return {
    memory,
    checks: () => checks,
    refuse(error: AppError | undefined) {
      refusal = error;
    },
  };
}

function alertsIn({ log }: Engine): unknown[] {
  return log.lines().filter(({ msg }) => msg === 'The tool failed its check, so calls to it are paused');
}
