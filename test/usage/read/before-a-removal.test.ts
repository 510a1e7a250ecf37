import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { createClaimStore } from '../../../src/engine/claim-store.ts';
import { createFinalReadingStore } from '../../../src/engine/final-reading-store.ts';
import { brakeDue } from '../../../src/engine/removal-worker.ts';
import { createSettleStore } from '../../../src/engine/settle-store.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { readNextPlace } from '../../../src/usage/read/read-place.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';

const minuteMs = 60_000;

describeEachDatabase('before somebody is taken out', (openFresh) => {
  /** One of two, whose contract has ended. */
  async function openEnd() {
    const world = await openUsageWorld(await openFresh());
    const { engine, sandbox } = world;
    await world.link('signs');
    const [leaving] = [world.hire(), world.hire()];
    await world.learn();
    await world.read();
    engine.clock.advance(minuteMs);
    sandbox.endContract(leaving.contractId);
    await world.learn();
    const { mayPass } = createFinalReadingStore(() => true);
    const brake = () => brakeDue({ ...engine, mayPass });
    const isCleared = async () => {
      await brake();
      const rows = await engine.membershipRows();
      return rows.some((row) => row.clearedGeneration !== null);
    };
    return { ...world, leaving, isCleared };
  }

  it('their work is read, and that is what is reported of them', async () => {
    const { engine, isCleared, tool, read, report, consumed, leaving, usage } = await openEnd();
    expect(await isCleared()).toBe(false);
    expect(await usage.deps.places.countDue(toInstant(engine.clock.now()))).toBe(1);
    const at = engine.clock.now().toISOString();
    const last = { memberId: leaving.memberId, seconds: 60, labels: 2, at };
    tool.items.set('signs', new Map([['last', last]]));
    await read();
    expect(await isCleared()).toBe(true);
    await report();
    expect(consumed(leaving.contractId)).toEqual({ seconds: 60, tasks: 1, labels: 2 });
  });

  it('five minutes are waited for that, and then it is said that it was not read', async () => {
    const { engine, isCleared, tool, read } = await openEnd();
    tool.breaksAfter = 0;
    tool.items.set('signs', new Map([['last', { memberId: 'm', seconds: 1, labels: 1, at: '' }]]));
    expect(await isCleared()).toBe(false);
    await read();
    engine.clock.advance(5 * minuteMs - 1);
    expect(await isCleared()).toBe(false);
    engine.clock.advance(1);
    expect(await isCleared()).toBe(true);
    const { database, box, clock } = engine;
    const now = toInstant(clock.now());
    const order = { tool: 'studio', install: 'acme', token: 't', now, limit: 1, exclusiveBy: [] };
    const leasedUntil = '9999-01-01T00:00:00.000Z';
    const [claim] = await createClaimStore(database, box).claim({ ...order, leasedUntil });
    if (claim === undefined) throw new Error('nothing to claim');
    const removed = { operation: 'remove', outcome: 'removed', state: 'removed' } as const;
    const settling = createSettleStore(database, box, engine.rules.routeLink);
    await settling.settle(claim, { ...removed, nextAttemptAt: null }, now);
    expect(await engine.rows('receipt')).toMatchObject([
      { outcome: 'removed', message: expect.stringContaining('could not be read') },
    ]);
  });

  it('nothing is waited for where it refuses to be read, as it did before', async () => {
    const { engine, isCleared, tool, usage } = await openEnd();
    const { signal } = new AbortController();
    /** The next try, as it is due. */
    const tryAgain = async () => {
      engine.clock.advance(10_000);
      expect(await readNextPlace(usage.deps, signal)).toBe(true);
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
    expect(await engine.rows('finalReading')).toMatchObject([{ isUnread: 1 }]);
  });

  it('nothing is waited for in a tool that tells of no work, or where nobody ever worked', async () => {
    const { engine } = await openEnd();
    const due = [
      { membershipId: 1, generation: 2, cause: 'retired', isOurs: true, tool: 'list' },
    ] as const;
    const passing = await inTransaction(engine.database, (tx) =>
      createFinalReadingStore((tool) => tool === 'studio').mayPass(tx, due, engine.clock.now()),
    );
    expect([...passing]).toEqual([1]);
    const nowhere = [{ ...due[0], tool: 'studio', membershipId: 999 }];
    const alone = await inTransaction(engine.database, (tx) =>
      createFinalReadingStore(() => true).mayPass(tx, nowhere, engine.clock.now()),
    );
    expect([...alone]).toEqual([999]);
  });
});
