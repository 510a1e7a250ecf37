import { expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { emptyContract, emptyEvidence, versionOfRead } from '../../src/domain/evidence.ts';
import type { MembershipState } from '../../src/domain/membership.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { createSweep } from '../../src/privacy/sweep.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { type EventWish, fullEvent } from '../support/event-bodies.ts';
import { insert } from '../support/insert.ts';
import { inviteAll } from '../support/invite.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const dayMs = 86_400_000;

describeAnyDatabase('retention', (openFresh) => {
  it('clears name, address and title when the retention is over, and keeps the ids', async () => {
    const { engine, sweepAll } = await openWorld(openFresh);
    await engine.apply([event('contract.started')]);
    await engine.apply([event('contract.ended')]);
    await quoteName(engine);
    engine.clock.advance(89 * dayMs);
    await sweepAll();
    expect(await namesOf(engine)).toEqual(['acme/t1 Amara O.']);
    expect(await engine.rows('receipt')).toMatchObject([{ message: 'no seat for Amara O.' }]);
    engine.clock.advance(2 * dayMs);
    await sweepAll();
    expect(await engine.rows('person')).toEqual([
      {
        install: 'acme',
        trainerId: 't1',
        displayName: null,
        displayNameVersion: null,
        workEmail: null,
        workEmailDigest: null,
        workEmailVersion: null,
        workEmailDomain: null,
        addressMissing: null,
        addressMissingVersion: null,
      },
    ]);
    expect(await engine.rows('contract')).toMatchObject([{ title: null, titleVersion: null }]);
    expect(await engine.rows('participation')).toMatchObject([{ trainerId: 't1' }]);
    expect(await engine.rows('membership')).toMatchObject([{ trainerId: 't1', failure: null }]);
    expect(await engine.rows('receipt')).toMatchObject([{ outcome: 'failed', message: null }]);
  });

  it('clears their invitation when their retention is over', async () => {
    const { engine, sweepAll } = await openWorld(openFresh);
    await engine.apply([event('contract.started'), event('contract.ended')]);
    await settleMemberships(engine, { wanted: false, state: 'released' });
    await inviteAll(engine);
    engine.clock.advance(89 * dayMs);
    await sweepAll();
    expect(await engine.rows('invitation')).toHaveLength(1);
    engine.clock.advance(2 * dayMs);
    await sweepAll();
    expect(await engine.rows('invitation')).toEqual([]);
    expect(await engine.rows('intent')).toMatchObject([{ credential: null }]);
  });

  it('clears a person whose contract was never reported as ended, because its link was removed', async () => {
    const { engine, sweepAll } = await openWorld(openFresh);
    await engine.apply([event('contract.started')]);
    await engine.apply([event('project_link.removed')]);
    await settleMemberships(engine, { wanted: false, state: 'removed' });
    await sweepAll();
    engine.clock.advance(89 * dayMs);
    await sweepAll();
    expect(await namesOf(engine)).toEqual(['acme/t1 Amara O.']);
    engine.clock.advance(2 * dayMs);
    await sweepAll();
    expect(await namesOf(engine)).toEqual(['acme/t1 null']);
  });

  it('clears each install by itself, whatever another has', async () => {
    const { engine, sweepAll } = await openWorld(openFresh);
    await engine.apply([event('contract.started')]);
    await engine.apply([event('contract.started', { contract: 'forged' })], 'globex');
    await engine.apply([event('contract.ended')]);
    expect(await engine.membershipRows()).toMatchObject([{ install: 'globex', wanted: true }]);
    await settleMemberships(engine, { wanted: true, state: 'active', memberId: 't1' });
    await quoteName(engine);
    engine.clock.advance(91 * dayMs);
    await sweepAll();
    expect(await namesOf(engine)).toEqual(['acme/t1 null', 'globex/t1 Amara O.']);
    // The data of the tool belongs to the install that still has them there.
    expect(await engine.rows('receipt')).toMatchObject([{ message: 'no seat for Amara O.' }]);
  });

  it('keeps a person with another contract in that install', async () => {
    const { engine, sweepAll } = await openWorld(openFresh);
    await engine.apply([event('contract.started'), event('contract.ended')]);
    await engine.apply([event('contract.started', { contract: 'c2', link: 'l2' })]);
    await engine.apply([event('contract.started'), event('contract.ended')], 'globex');
    await settleMemberships(engine, { wanted: false, state: 'removed' });
    engine.clock.advance(400 * dayMs);
    await sweepAll();
    expect(await namesOf(engine)).toEqual(['acme/t1 Amara O.', 'globex/t1 null']);
  });

  it('keeps a person with a contract whose end is unknown', async () => {
    const { engine, sweepAll } = await openWorld(openFresh);
    await engine.apply([event('contract.started'), event('contract.ended')]);
    const seenAt = toInstant(engine.clock.now());
    const on = { install: 'acme', contractId: 'c2', trainerId: 't1' };
    const participation = { ...on, seenAt, absences: null };
    await engine.merge({
      ...emptyEvidence(),
      contracts: [emptyContract('acme', 'c2')],
      participations: [participation],
    });
    engine.clock.advance(400 * dayMs);
    await sweepAll();
    expect(await namesOf(engine)).toEqual(['acme/t1 Amara O.']);
  });

  it('counts from when an end was first seen, however often it is read', async () => {
    const { engine, sweepAll } = await openWorld(openFresh);
    await engine.apply([event('contract.started')]);
    engine.clock.advance(200 * dayMs);
    for (let day = 0; day <= 89; day += 1) {
      await readEnded(engine);
      await sweepAll();
      engine.clock.advance(dayMs);
    }
    await settleMemberships(engine, { wanted: false, state: 'removed' });
    expect(await namesOf(engine)).toEqual(['acme/t1 Amara O.']);
    engine.clock.advance(dayMs);
    await readEnded(engine);
    await sweepAll();
    expect(await namesOf(engine)).toEqual(['acme/t1 null']);
  });

  it.each<[MembershipState, boolean, string | null, boolean]>([
    ['active', true, 'm1', true],
    ['removing', false, 'm1', true],
    ['failed', false, 'm1', true],
    ['failed', false, null, false],
    ['removed', false, 'm1', false],
    ['released', false, 'm1', false],
  ])('of a member who is %s (wanted %s, member %s): kept %s', async (state, wanted, memberId, isKept) => {
    const { engine, sweepAll } = await openWorld(openFresh);
    await engine.apply([event('contract.started'), event('contract.ended')]);
    await engine.apply([event('contract.started', { trainer: 't2', contract: 'c2' })]);
    await settleMemberships(engine, { state, wanted, memberId });
    engine.clock.advance(91 * dayMs);
    await sweepAll();
    const name = isKept ? 'Amara O.' : 'null';
    expect(await namesOf(engine)).toEqual([`acme/t1 ${name}`, 'acme/t2 Amara O.']);
  });

  it('clears again what an old delivery brought back, and keeps it after a new hire', async () => {
    const { engine, sweepAll } = await openWorld(openFresh);
    await engine.apply([event('contract.started'), event('contract.ended')]);
    engine.clock.advance(91 * dayMs);
    await sweepAll();
    await engine.apply([event('contract.started')]);
    expect(await namesOf(engine)).toEqual(['acme/t1 Amara O.']);
    await sweepAll();
    expect(await namesOf(engine)).toEqual(['acme/t1 null']);
    const createdAt = toInstant(engine.clock.now());
    await engine.apply([event('contract.started', { contract: 'c2', createdAt })]);
    await sweepAll();
    expect(await namesOf(engine)).toEqual(['acme/t1 Amara O.']);
  });

  it('makes Gangway ask again who is on a contract that turns out to go on', async () => {
    const { engine, sweepAll } = await openWorld(openFresh);
    await engine.apply([event('contract.started'), event('contract.ended')]);
    const readAt = toInstant(engine.clock.now());
    const answers = ['c1', 'c2'].map((id) => ({ ...emptyContract('acme', id), participantsReadAt: readAt }));
    await engine.merge({ ...emptyEvidence(), contracts: answers });
    engine.clock.advance(91 * dayMs);
    await sweepAll();
    expect(await namesOf(engine)).toEqual(['acme/t1 null']);
    const contracts = await engine.rows('contract');
    expect(contracts).toContainEqual(expect.objectContaining({ contractId: 'c1', participantsReadAt: null }));
    expect(contracts).toContainEqual(expect.objectContaining({ contractId: 'c2', participantsReadAt: readAt }));
  });

  it('takes more than one chunk, and then starts over', async () => {
    const { engine, sweep, sweepAll } = await openWorld(openFresh);
    await insertEnded(engine, 230);
    engine.clock.advance(91 * dayMs);
    let steps = 1;
    while (await sweep()) steps += 1;
    expect(steps).toBeGreaterThanOrEqual(5);
    expect(new Set((await namesOf(engine)).map((name) => name.split(' ')[1]))).toEqual(new Set(['null']));
    await engine.apply([event('contract.started', { trainer: 'p0', contract: 'k0' })]);
    await sweepAll();
    expect(await namesOf(engine)).toContain('acme/p0 null');
  });

  it('decides again under the lock', async () => {
    let beforeLock = async () => {};
    const { engine, sweep, sweepAll } = await openWorld(openFresh, () => beforeLock());
    await engine.apply([event('contract.started'), event('contract.ended')]);
    engine.clock.advance(91 * dayMs);
    // First the contracts, then the people.
    await sweep();
    let isRaced = false;
    beforeLock = async () => {
      if (isRaced) return;
      isRaced = true;
      const createdAt = toInstant(engine.clock.now());
      await engine.apply([event('contract.started', { contract: 'c2', createdAt })]);
    };
    await sweepAll();
    expect(isRaced).toBe(true);
    expect(await namesOf(engine)).toEqual(['acme/t1 Amara O.']);
  });
});

/** @param beforeLock what happens between the look and the lock */
async function openWorld(openFresh: () => Promise<Database>, beforeLock?: () => Promise<void>) {
  const engine = createEngine(await openFresh());
  const database: Database = {
    ...engine.database,
    async transact(work, isDurable) {
      await beforeLock?.();
      return await engine.database.transact(work, isDurable);
    },
  };
  const sweep = createSweep({ ...engine, database });
  return { engine, sweep, sweepAll: () => sweepThrough(sweep) };
}

async function sweepThrough(sweep: ReturnType<typeof createSweep>): Promise<void> {
  while (await sweep());
}

function event(type: string, wish: Partial<EventWish> = {}): string {
  return fullEvent({ type, contract: 'c1', trainer: 't1', ...wish });
}

/** People with one contract each. The contracts end now. */
async function insertEnded({ merge, clock }: Engine, count: number): Promise<void> {
  const now = toInstant(clock.now());
  const numbers = Array.from({ length: count }, (_, index) => index);
  const noAddress = { workEmail: null, workEmailVersion: null, addressMissing: null, addressMissingVersion: null };
  await merge({
    ...emptyEvidence(),
    contracts: numbers.map((number) => ({
      ...emptyContract('acme', `k${number}`),
      endedEventAt: now,
    })),
    participations: numbers.map((number) => ({
      install: 'acme',
      contractId: `k${number}`,
      trainerId: `p${number}`,
      seenAt: now,
      absences: null,
    })),
    people: numbers.map((number) => ({
      install: 'acme',
      trainerId: `p${number}`,
      ...noAddress,
      displayName: 'A trainer',
      displayNameVersion: '0:',
    })),
  });
}

async function readEnded(engine: Engine): Promise<void> {
  const endedReadAt = toInstant(engine.clock.now());
  const title = { title: 'Street signs', titleVersion: versionOfRead(endedReadAt) };
  const contract = { ...emptyContract('acme', 'c1'), endedReadAt, ...title };
  await engine.merge({ ...emptyEvidence(), contracts: [contract] });
}

/** A tool's answer that names a person. */
async function quoteName({ database }: Engine): Promise<void> {
  const { kysely } = database;
  const message = 'no seat for Amara O.';
  const { id } = await kysely
    .updateTable('membership')
    .set({ failure: message })
    .returning('id')
    .executeTakeFirstOrThrow();
  const receipt = { membershipId: id, generation: 1, operation: 'add', toolStatus: 400 } as const;
  await insert(kysely, 'receipt', { ...receipt, outcome: 'failed', message, createdAt: '2026-03-15T12:00:00.000Z' });
}

/** Sets the state that the work in the tool would have left. */
async function settleMemberships(
  { database }: Engine,
  values: { wanted: boolean; state: MembershipState; memberId?: string | null },
): Promise<void> {
  await database.kysely.updateTable('membership').set(values).where('trainerId', '!=', 't2').execute();
}

async function namesOf(engine: Engine): Promise<string[]> {
  const people = (await engine.rows('person')) as Record<string, string | null>[];
  return people.map(({ install, trainerId, displayName }) => `${install}/${trainerId} ${displayName}`).sort();
}
