import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { createIntakeWorker } from '../../../src/evidence/intake-worker.ts';
import { listDeliveries } from '../../../src/inbox/delivery-list-store.ts';
import { readerVersion } from '../../../src/inbox/event-schema.ts';
import {
  openBody,
  postponeDelivery,
  replayDeliveriesIn,
  replayUnreadDeliveries,
} from '../../../src/inbox/inbox-store.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { listInstallStates } from '../../../src/reconcile/read/install-state-store.ts';
import { createEngine, type Engine, startLoops } from '../../support/engine-harness.ts';
import { fullEvent, minimalEvent } from '../../support/event-bodies.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';
import { watchQueries } from '../../support/watch-queries.ts';

const hourMs = 3_600_000;

function started(number: number, wish: object = {}): string {
  const names = { contract: `c${number}`, trainer: `t${number}` };
  return fullEvent({ type: 'contract.started', ...names, ...wish });
}

async function deliveriesOf({ database }: Engine) {
  const deliveries = await listDeliveries(database.kysely, { limit: 1000 });
  return deliveries.reverse();
}

async function statesOf(engine: Engine): Promise<string[]> {
  return (await deliveriesOf(engine)).map(({ state }) => state);
}

/** Spoils what is stored, so that it does not open. @returns the id and how to undo it */
async function corrupt(engine: Engine, contract: string) {
  const { kysely } = engine.database;
  const rows = await kysely.selectFrom('delivery').selectAll().orderBy('id').execute();
  const row = rows.find((one) => openBody(engine, one).includes(`"${contract}"`));
  if (row === undefined) throw new Error('no such delivery');
  const write = (body: Buffer) => kysely.updateTable('delivery').set({ body }).where('id', '=', row.id).execute();
  await write(Buffer.from('spoilt'));
  return { id: row.id, restore: () => write(row.body) };
}

describeAnyDatabase('intake', (openFresh) => {
  it('makes a membership from a start, and removes it after the end', async () => {
    const engine = createEngine(await openFresh());
    await engine.deliver([started(1)]);
    await engine.takeIn();
    const at = toInstant(engine.clock.now());
    expect(await engine.membershipRows()).toMatchObject([
      { tool: 'studio', groupId: 'street-signs', trainerId: 't1', wanted: true, generation: 1 },
    ]);
    expect(await engine.membershipRows()).toMatchObject([{ state: 'pending', nextAttemptAt: at }]);
    expect(await statesOf(engine)).toEqual(['handled']);

    await engine.deliver([started(1, { type: 'contract.ended' })]);
    await engine.takeIn();
    expect(await engine.membershipRows()).toMatchObject([
      { wanted: false, generation: 2, state: 'removed', nextAttemptAt: null },
    ]);
  });

  it('skips a delivery whose body was not kept', async () => {
    const engine = createEngine(await openFresh());
    await engine.deliver(['{"type":"payout.sent"}', started(1)]);
    const due = { nextAttemptAt: toInstant(engine.clock.now()), state: 'pending' } as const;
    await engine.database.kysely.updateTable('delivery').set(due).execute();
    await engine.takeIn();
    expect((await statesOf(engine)).sort()).toEqual(['handled', 'pending']);
    const [left] = await listDeliveries(engine.database.kysely, { state: 'pending', limit: 1 });
    expect(left).toMatchObject({ attempts: 1, failure: expect.stringContaining('was not kept') });
  });

  it('keeps addresses sealed', async () => {
    const engine = createEngine(await openFresh());
    await engine.deliver([started(1)]);
    await engine.takeIn();
    const stored = JSON.stringify(await engine.rows('person'), (_, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
    );
    expect(stored).toContain('Amara O.');
    expect(stored).not.toContain('t1@opentrain.work');
  });

  it('postpones a bad delivery, and handles the others of its batch', async () => {
    const engine = createEngine(await openFresh());
    await engine.deliver([1, 2, 3, 4, 5].map((number) => started(number)));
    const { id } = await corrupt(engine, 'c3');
    await engine.takeIn();

    const deliveries = await deliveriesOf(engine);
    const bad = deliveries.find((delivery) => delivery.id === id);
    expect(bad).toMatchObject({ state: 'pending', failure: expect.stringContaining('decrypt') });
    expect(bad?.attempts).toBeGreaterThanOrEqual(1);
    const others = deliveries.filter((delivery) => delivery !== bad);
    expect(others.map(({ state }) => state)).toEqual(Array(4).fill('handled'));
    const trainers = (await engine.membershipRows()).map((row) => row.trainerId);
    expect(trainers.sort()).toEqual(['t1', 't2', 't4', 't5']);
    expect(engine.log.text()).not.toContain('@opentrain.work');
  });

  it('counts no attempt while the database is down', async () => {
    const engine = createEngine(await openFresh());
    await engine.deliver([1, 2, 3].map((number) => started(number)));
    const { id } = await corrupt(engine, 'c3');
    let looks = 0;
    const away = watchQueries(engine.database, {
      'select delivery'(rows) {
        if (!rows.some((row) => 'body' in row)) return;
        looks += 1;
        // The batch is spoilt by the bad one; then the database is away for the first that is taken alone.
        if (looks === 2) throw new AppError('unavailable', 'The database could not be used (57P01)');
      },
    });
    startLoops(createIntakeWorker({ ...engine, database: away }, engine.intake));
    const attempts = async () => (await deliveriesOf(engine)).map((one) => one.attempts);
    await until('the bad one is put off', attempts, (all) => all.some((count) => count > 0));
    await until(
      'the others are handled',
      () => statesOf(engine),
      (all) => all.filter((state) => state === 'handled').length === 2,
    );
    const tried = (await deliveriesOf(engine)).filter((one) => one.attempts > 0);
    expect(tried.map((one) => one.id)).toEqual([id]);
  });

  it('retries a bad delivery with back-off, gives it up, and takes it in when replayed', async () => {
    const engine = createEngine(await openFresh());
    await engine.deliver([started(1)]);
    const { id, restore } = await corrupt(engine, 'c1');
    const find = () =>
      engine.database.kysely
        .selectFrom('delivery')
        .select(['attempts', 'nextAttemptAt', 'state'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow();

    for (let hours = 0; (await find()).state === 'pending' && hours < 20; hours += 1) {
      await engine.takeIn();
      const { attempts, nextAttemptAt } = await find();
      const waitMs = Date.parse(nextAttemptAt ?? '') - engine.clock.now().getTime();
      if (nextAttemptAt !== null) expect(waitMs).toBeLessThanOrEqual(1000 * 2 ** attempts);
      engine.clock.advance(hourMs);
    }
    expect(await find()).toEqual({ attempts: 12, nextAttemptAt: null, state: 'failed' });

    await restore();
    engine.clock.advance(24 * hourMs);
    await engine.takeIn();
    expect(await statesOf(engine)).toEqual(['failed']);
    const now = toInstant(engine.clock.now());
    expect(await inTransaction(engine.database, (tx) => replayDeliveriesIn(tx, [id], now))).toEqual([id]);
    await engine.takeIn();
    expect(await statesOf(engine)).toEqual(['handled']);
    expect(await engine.membershipRows()).toMatchObject([{ trainerId: 't1', state: 'pending' }]);
  });

  it('takes in a failed delivery when the marketplace repeats it', async () => {
    const engine = createEngine(await openFresh());
    await engine.deliver([started(1)]);
    const { id, restore } = await corrupt(engine, 'c1');
    await postponeDelivery(engine, id, 'given up', null);
    await restore();
    await engine.deliver([started(1)]);
    await engine.takeIn();
    expect(await statesOf(engine)).toEqual(['handled']);
  });

  it('derives the trainers of a removed link in several transactions', async () => {
    const engine = createEngine(await openFresh());
    const numbers = Array.from({ length: 250 }, (_, index) => index + 1);
    await engine.deliver(numbers.map((number) => started(number)));
    await engine.takeIn();
    expect(await countWanted(engine)).toBe(250);

    await engine.apply([fullEvent({ type: 'project_link.removed' })]);
    expect(await countWanted(engine)).toBe(150);
    expect(await engine.rows('derivation')).toHaveLength(150);

    // What changes meanwhile is seen by those who still wait.
    await engine.deliver([started(240, { link: 'other', project: 'lamps', contract: 'other' })]);
    await engine.takeIn();
    expect(await engine.rows('derivation')).toEqual([]);
    const wanted = (await engine.membershipRows()).filter((row) => row.wanted);
    expect(wanted).toMatchObject([{ trainerId: 't240', groupId: 'lamps' }]);
  });

  it('reads again what an older version could not', async () => {
    const engine = createEngine(await openFresh());
    await engine.deliver([started(1), 'not an event']);
    // As an older version would have left them.
    await engine.database.kysely
      .updateTable('delivery')
      .set({ state: 'unprocessable', failure: 'no event', nextAttemptAt: null, readerVersion: readerVersion - 1 })
      .execute();
    await engine.takeIn();
    expect(await engine.membershipRows()).toEqual([]);

    const now = toInstant(engine.clock.now());
    expect(await replayUnreadDeliveries(engine, now)).toBe(2);
    await engine.takeIn();
    const states = (await deliveriesOf(engine)).map(({ state, readerVersion: by }) => [state, by]);
    expect(states.map(([state]) => state).sort()).toEqual(['handled', 'unprocessable']);
    expect(states).toContainEqual(['unprocessable', readerVersion]);
    expect(await engine.membershipRows()).toMatchObject([{ trainerId: 't1' }]);
    expect(await replayUnreadDeliveries(engine, now)).toBe(0);
  });

  it('reads what a minimal start omits', async () => {
    const engine = createEngine(await openFresh());
    await engine.deliver([minimalEvent('contract.started', 'c1'), started(2)]);
    await engine.takeIn();
    const at = toInstant(engine.clock.now());
    expect(await engine.rows('readRequest')).toMatchObject([
      { install: 'acme', contractId: 'c1', wantedAt: at, nextAttemptAt: at },
    ]);
  });

  it('wakes the next step when it has work', async () => {
    const due: string[] = [];
    const engine = createEngine(await openFresh());
    engine.wake = (loop) => void due.push(loop);
    await engine.deliver([started(1)]);
    await engine.takeIn();
    await engine.deliver([minimalEvent('contract.started', 'c9')]);
    await engine.takeIn();
    await engine.deliver([fullEvent({ type: 'milestone.funded' })]);
    await engine.takeIn();
    expect(due).toEqual(['memberships', 'jobs']);
    await engine.database.kysely.updateTable('membership').set({ isOurs: true }).execute();
    await engine.deliver([started(1, { type: 'contract.ended' })]);
    await engine.takeIn();
    expect(due).toEqual(['memberships', 'jobs', 'removals']);
  });

  it('reads the whole install for a new link, whose contracts no event names', async () => {
    const due: string[] = [];
    const engine = createEngine(await openFresh());
    engine.wake = (loop) => void due.push(loop);
    await engine.deliver([fullEvent({ type: 'project_link.created', link: 'cml9' })]);
    await engine.takeIn();
    const at = toInstant(engine.clock.now());
    expect(due).toEqual(['jobs']);
    expect(await engine.rows('job')).toMatchObject([{ kind: 'reconcile', key: 'acme', dueAt: at }]);
    expect(await listInstallStates(engine)).toMatchObject([{ install: 'acme', heldSince: null }]);
  });
});

async function countWanted(engine: Engine): Promise<number> {
  return (await engine.membershipRows()).filter((row) => row.wanted).length;
}
