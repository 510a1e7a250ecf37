import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { emptyContract, emptyEvidence } from '../../../src/domain/evidence.ts';
import { listDeliveries } from '../../../src/inbox/delivery-list-store.ts';
import { replayFailedDeliveries } from '../../../src/inbox/inbox-store.ts';
import { readStored } from '../../../src/inbox/storage-store.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { addPeople } from '../../support/many-people.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { watchQueries } from '../../support/watch-queries.ts';

const maxTrainers = 1000;
const maxContracts = 500;
const maxLinks = 10;

function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, number) => `${prefix}${number}`);
}

function started(wish: object): string {
  return fullEvent({ type: 'contract.started', ...wish });
}

async function failuresOf({ database }: Engine): Promise<(string | null)[]> {
  return (await listDeliveries(database.kysely, { state: 'failed', limit: 100 })).map(({ failure }) => failure);
}

function alertsIn({ log }: Engine): Record<string, unknown>[] {
  return log.lines().filter(({ alert }) => alert === 'evidence_held');
}

async function stateOf(engine: Engine, trainer: string): Promise<string | undefined> {
  const rows = await engine.membershipRows();
  return rows.find(({ trainerId }) => trainerId === trainer)?.state;
}

describeAnyDatabase('what an install says beyond a bound', (openFresh) => {
  it('of a contract is held, reported once, and can be replayed', async () => {
    const engine = createEngine(await openFresh());
    await addPeople(engine, { contracts: ['c1'], trainers: numbered('t', maxTrainers - 1) });
    for (const trainer of ['in', 'out1', 'out2']) {
      await engine.deliver([started({ contract: 'c1', trainer })]);
    }
    await engine.takeIn();
    expect(await stateOf(engine, 'in')).toBe('pending');
    expect(await stateOf(engine, 'out1')).toBeUndefined();
    const reason = `Held: there are ${maxTrainers} trainers of the contract c1 already`;
    expect(await failuresOf(engine)).toEqual([reason, reason]);
    expect(alertsIn(engine)).toMatchObject([{ install: 'acme', contract: 'c1', reason }]);

    const { kysely } = engine.database;
    await kysely.deleteFrom('participation').where('trainerId', '=', 't1').execute();
    const now = toInstant(engine.clock.now());
    expect(await inTransaction(engine.database, (tx) => replayFailedDeliveries(tx, now))).toHaveLength(2);
    await engine.takeIn();
    expect(await stateOf(engine, 'out1')).toBe('pending');
    expect(await failuresOf(engine)).toEqual([reason]);
    expect(alertsIn(engine)).toHaveLength(1);
  });

  it('of hires is held, and an end is taken in', async () => {
    const engine = createEngine(await openFresh());
    await engine.apply([started({ contract: 'c1', trainer: 'in' })]);
    const { kysely } = engine.database;
    await kysely
      .updateTable('installStorage')
      .set({ bytes: 120_000 * 8 * 1024 })
      .where('part', '=', -1)
      .execute();
    await engine.deliver([started({ contract: 'c2', trainer: 'out' })]);
    await engine.takeIn();
    expect(await stateOf(engine, 'out')).toBeUndefined();
    const reason = 'Held: there are 120000 hires of the install acme already';
    expect(await failuresOf(engine)).toEqual([reason]);
    expect(alertsIn(engine)).toMatchObject([{ install: 'acme', reason }]);
    await engine.deliver([fullEvent({ type: 'contract.ended', contract: 'c1', trainer: 'in' })]);
    await engine.takeIn();
    expect(await stateOf(engine, 'in')).toBe('removed');
  });

  it("counts a hire once, as 8 KiB of its install's storage", async () => {
    const engine = createEngine(await openFresh());
    const hires = numbered('t', 3).map((trainer) => started({ contract: `of-${trainer}`, trainer }));
    await engine.apply(hires);
    await engine.apply(hires);
    expect(await readStored(engine.database.kysely)).toEqual(new Map([['acme', 3 * 8 * 1024]]));
  });

  it('of a trainer is held: further contracts are ignored', async () => {
    const engine = createEngine(await openFresh());
    const contracts = numbered('c', maxContracts);
    await addPeople(engine, { contracts, trainers: ['t1'] });
    let most = 0;
    engine.database = watchQueries(engine.database, {
      'select participation': (rows) => {
        most = Math.max(most, rows.length);
      },
    });
    await engine.deliver(numbered('more', 12).map((contract) => started({ contract, trainer: 't1' })));
    await engine.takeIn();
    expect(await failuresOf(engine)).toHaveLength(12);
    expect(alertsIn(engine)).toMatchObject([{ install: 'acme', trainer: 't1' }]);
    await engine.apply([
      started({
        contract: 'c0',
        trainer: 't1',
        id: '9000000000',
        workEmail: 'other@opentrain.work',
      }),
    ]);
    expect(most).toBe(maxContracts);

    // Another customer's word about the same person is counted by itself.
    const other = { contract: 'o', trainer: 't1', link: 'o', project: 'other' };
    await engine.deliver([started(other)], 'globex');
    await engine.takeIn();
    const rows = await engine.membershipRows();
    expect(rows.map(({ install, groupId }) => `${install} ${groupId}`)).toContain('globex other');
  });

  it('removes no trainer who is in, and keeps no trainer in whose contract ends', async () => {
    const engine = createEngine(await openFresh());
    await addPeople(engine, { contracts: ['c1'], trainers: numbered('t', maxTrainers) });
    await engine.apply([started({ contract: 'c1', trainer: 't7' })]);
    await engine.deliver([started({ contract: 'c1', trainer: 'out' })]);
    await engine.takeIn();
    expect(await stateOf(engine, 't7')).toBe('pending');
    // An end is taken in, whatever trainer it names.
    await engine.deliver([fullEvent({ type: 'contract.ended', contract: 'c1', trainer: 'unheard-of' })]);
    await engine.takeIn();
    expect(await stateOf(engine, 't7')).toBe('removed');
  });

  it('of the links of a contract is held', async () => {
    const engine = createEngine(await openFresh());
    const links = numbered('l', maxLinks + 2);
    await engine.deliver(links.map((link) => started({ link, project: `project-${link}` })));
    await engine.takeIn();
    expect(await engine.rows('contractLink')).toHaveLength(maxLinks);
    expect(await failuresOf(engine)).toHaveLength(2);
    expect(alertsIn(engine)).toMatchObject([{ install: 'acme', contract: 'cmc1' }]);
  });

  it('in a read is held too: the first trainers are in, and stay in', async () => {
    const engine = createEngine(await openFresh());
    const people = numbered('t', maxTrainers + 200);
    const at = toInstant(engine.clock.now());
    const participations = people.map((trainerId) => ({
      install: 'acme',
      contractId: 'c1',
      trainerId,
      seenAt: at,
      absences: null,
    }));
    const contracts = [{ ...emptyContract('acme', 'c1'), activeReadAt: at }];
    await engine.apply([started({ contract: 'c1', trainer: 't1199' })]);
    for (const _ of [1, 2]) await engine.merge({ ...emptyEvidence(), contracts, participations });
    await engine.takeIn();
    expect(await engine.rows('participation')).toHaveLength(maxTrainers);
    expect(await stateOf(engine, 't1199')).toBe('pending');
  });
});
