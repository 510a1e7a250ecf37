import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import {
  createIntakeWorker,
  type IntakePorts,
  type Rest,
  restBesideOthers,
} from '../../../src/evidence/intake-worker.ts';
import { appendDeliveries } from '../../../src/inbox/append-store.ts';
import { dueDeliveries, settleDeliveries } from '../../../src/inbox/inbox-store.ts';
import { hasPostponed, postponeDerivation, takePostponed } from '../../../src/memberships/derivation-store.ts';
import { newDelivery } from '../../support/deliveries.ts';
import { createEngine, type Engine, startLoops } from '../../support/engine-harness.ts';
import { fullEvent, minimalEvent } from '../../support/event-bodies.ts';
import { addPeople } from '../../support/many-people.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';
import { watchQueries } from '../../support/watch-queries.ts';

const crowd = 2000;

/** A trainer of `globex`, whose names come last in every order. */
const zoe = { contract: 'zz', trainer: 'zoe', link: 'zz-link', project: 'zoo' };

describeAnyDatabase('installs take turns at intake', (openFresh) => {
  it('600 forged events of one do not delay a hire of another by a single batch', async () => {
    const engine = createEngine(await openFresh());
    const forged = Array.from({ length: 600 }, (_, n) => minimalEvent('contract.started', `f${n}`));
    await engine.deliver(forged);
    await engine.deliver([fullEvent({ type: 'contract.started', ...zoe })], 'globex');
    expect(await batchesUntilDue(engine)).toBe(1);
  });

  it('no install is left out if a batch has no room for all', async () => {
    const { database, box } = createEngine(await openFresh());
    const installs = Array.from({ length: 120 }, (_, number) => `install-${number}`);
    const deliveries = [...installs, ...installs, ...installs].map((install, number) =>
      newDelivery(minimalEvent('contract.started', `c${number}`), { install }),
    );
    const flood = Array.from({ length: 200 }, (_, number) =>
      newDelivery(minimalEvent('contract.started', `f${number}`), { install: 'flood' }),
    );
    await appendDeliveries({ database, box }, [...flood, ...deliveries]);
    const served = new Set<string>();
    for (let batch = 0; batch < 3; batch += 1) {
      const due = await dueDeliveries({ database, box }, database.kysely, '2027-01-01T00:00:00.000Z', 50);
      expect(due.length).toBeLessThanOrEqual(50);
      const ids = due.map(({ id }) => id);
      await inTransaction(database, (tx) => settleDeliveries(tx, ids));
      for (const { install } of due) served.add(install);
    }
    expect(served.size).toBe(121);
  });

  it('intake yields to the receiver only until another install sends something', async () => {
    const engine = createEngine(await openFresh());
    /** How many members there were before each rest. */
    const before: number[] = [];
    const rest: Rest = async (ms, signal) => {
      before.push((await engine.membershipRows()).length);
      await restBesideOthers(ms, signal);
      // Intake rests only while it gives way: by then the flood has been taken in.
      if (before.length === 1) await engine.deliver([fullEvent({ type: 'contract.started', ...zoe })], 'globex');
      return 1;
    };
    await engine.deliver(Array.from({ length: 100 }, (_, number) => minimalEvent('contract.started', `f${number}`)));
    startLoops(createIntakeWorker(engine, { ...engine.intake, isReceiverBusy: () => true, rest }));
    await until('the other is taken in', async () => (await engine.membershipRows()).length === 1, Boolean);
    expect(before.slice(0, 2)).toEqual([0, 1].slice(0, before.length));
  });
});

describeAnyDatabase('installs take turns at derivation', (openFresh) => {
  it('an end of one is derived at once, while thousands of another are touched again and again', async () => {
    const engine = createEngine(await openFresh());
    await engine.apply([fullEvent({ type: 'contract.started', ...zoe })], 'globex');
    await addPeople(engine, { contracts: ['crowd'], trainers: numbered('t', crowd) });
    await engine.apply([fullEvent({ type: 'project_link.removed', link: 'cml1' })]);
    const more = Array.from({ length: 20 }, (_, number) =>
      fullEvent({ type: 'contract.ended', contract: 'crowd', trainer: `t${number}` }),
    );
    await engine.deliver(more);
    await engine.deliver([minimalEvent('contract.ended', zoe.contract)], 'globex');
    await takeBatches(engine, 1);
    expect(await wantedOf(engine, 'zoe')).toBe(false);
    expect((await engine.rows('derivation')).length).toBeGreaterThan(crowd / 2);
  });

  it('a removed link of one is derived in the next transaction, beside a queue of another', async () => {
    const engine = createEngine(await openFresh());
    await engine.apply([fullEvent({ type: 'contract.started', ...zoe })], 'globex');
    await addPeople(engine, { contracts: ['crowd'], trainers: numbered('t', crowd) });
    await engine.apply([fullEvent({ type: 'project_link.removed', link: 'cml1' })]);
    expect((await engine.rows('derivation')).length).toBeGreaterThan(crowd / 2);
    await engine.apply([fullEvent({ type: 'project_link.removed', link: zoe.link })], 'globex');
    expect(await wantedOf(engine, 'zoe')).toBe(false);
  });

  it('only the trainer that an event names is derived, and not all who are on the contract', async () => {
    const engine = createEngine(await openFresh());
    await addPeople(engine, { contracts: ['crowd'], trainers: numbered('t', 300) });
    const derived = watchDerived(engine);
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'crowd' })]);
    derived.clear();
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'crowd', trainer: 'newcomer' })]);
    await engine.apply([
      fullEvent({
        type: 'contract.started',
        contract: 'crowd',
        id: '9000000000',
        workEmail: 'other@opentrain.work',
      }),
    ]);
    expect(derived.trainers()).toEqual(['newcomer', 'cmu1']);
    expect(await wantedOf(engine, 'newcomer')).toBe(true);
  });

  it('the trainer who has waited longest is derived first', async () => {
    const engine = createEngine(await openFresh());
    const { database } = engine;
    const names = ['mia', 'zed', 'abe', 'kim'];
    const taken = await inTransaction(database, async (tx) => {
      for (const trainerId of names) {
        await postponeDerivation(tx, [{ install: 'acme', trainerId }]);
      }
      // A trainer who is left again keeps their turn.
      await postponeDerivation(tx, [{ install: 'acme', trainerId: 'mia' }]);
      const first = await takePostponed(engine, tx, 3, 100);
      const second = await takePostponed(engine, tx, 3, 100);
      return [first, second].map((one) => [...one.keys()]);
    });
    expect(taken).toEqual([['mia', 'zed', 'abe'], ['kim']]);
  });

  it('a trainer who waits because of two installs is derived in the shorter queue', async () => {
    const engine = createEngine(await openFresh());
    const { database } = engine;
    const waiting = [...numbered('t', 50), 'zoe'].map((trainerId) => ({ install: 'acme', trainerId }));
    const taken = await inTransaction(database, async (tx) => {
      await postponeDerivation(tx, waiting);
      await postponeDerivation(tx, [{ install: 'globex', trainerId: 'zoe' }]);
      return await takePostponed(engine, tx, 4, 100);
    });
    expect([...taken.keys()]).toContain('zoe');
  });

  it('trainers without an install in the queue are derived too', async () => {
    const engine = createEngine(await openFresh());
    await engine.apply([fullEvent({ type: 'contract.started' })]);
    await engine.database.kysely.insertInto('derivation').values({ trainerId: 'cmu1' }).execute();
    expect(await hasPostponed(engine)).toBe(true);
    await engine.takeIn();
    expect(await engine.rows('derivation')).toEqual([]);
  });

  it('a transaction reads a bounded number of contracts, however many people a batch names', async () => {
    const engine = createEngine(await openFresh());
    const trainers = numbered('t', 10);
    await addPeople(engine, { contracts: numbered('c', 200), trainers });
    const derived = watchDerived(engine);
    await engine.deliver(
      trainers.map((trainer, n) => fullEvent({ type: 'contract.started', contract: `new${n}`, trainer })),
    );
    await engine.takeIn();
    expect(new Set(derived.trainers())).toEqual(new Set(trainers));
    expect(derived.most()).toBeLessThanOrEqual(600);
  });
});

/** Each batch asks once for readings of installs, at its end. */
function countingBatches({ intake }: Engine, onBatch: () => void): IntakePorts {
  return {
    ...intake,
    async wantInstallRead(tx, installs, now) {
      await intake.wantInstallRead(tx, installs, now);
      onBatch();
    },
  };
}

/** Runs intake until something is due in a tool. @returns after how many batches that was */
async function batchesUntilDue(engine: Engine): Promise<number> {
  let batches = 0;
  const { promise, resolve } = Promise.withResolvers<number>();
  engine.wake = (loop) => {
    if (loop === 'memberships') resolve(batches);
  };
  const ports = countingBatches(engine, () => {
    batches += 1;
  });
  startLoops(createIntakeWorker(engine, ports));
  return await promise;
}

/** Runs intake for so many transactions, and no more. */
async function takeBatches(engine: Engine, count: number): Promise<void> {
  let batches = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const ports = countingBatches(engine, () => {
    batches += 1;
    if (batches !== count) return;
    void worker.stop();
    resolve();
  });
  const worker = createIntakeWorker(engine, ports);
  worker.start();
  await promise;
  await worker.stop();
}

/** Who is derived from here on, and how much is looked at for that in one transaction. */
function watchDerived(engine: Engine) {
  const trainers: string[] = [];
  let most = 0;
  engine.database = watchQueries(engine.database, {
    'select participation': (rows) => {
      // Only derivation reads what the contracts of a trainer say.
      const derived = rows.filter((row) => 'activeReadAt' in row);
      trainers.push(...new Set(derived.map(({ trainerId }) => String(trainerId))));
      most = Math.max(most, derived.length);
    },
  });
  return {
    trainers: () => trainers,
    most: () => most,
    clear() {
      trainers.length = 0;
    },
  };
}

async function wantedOf(engine: Engine, trainer: string): Promise<boolean | undefined> {
  const rows = await engine.membershipRows();
  return rows.find(({ trainerId }) => trainerId === trainer)?.wanted;
}

function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, number) => `${prefix}${number}`);
}
