import { beforeEach, describe, expect, it } from 'vitest';
import {
  claimMemberships,
  convergeLeaseMs,
  installsWithMembershipsDue,
  prolongClaim,
  putBackClaim,
} from '../../src/converge/claim-store.ts';
import { settleMembership } from '../../src/converge/settle-store.ts';
import { retryFailedOfTool } from '../../src/converge/tool-trouble-store.ts';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import { holdInstalls, noteInstallRead } from '../../src/reconcile/read/install-state-store.ts';
import { claimDue, claimOne, hire, numberedEvent } from '../support/converging.ts';
import { describeEachDialect, openForTest } from '../support/databases.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';

describeEachDialect('the claim store', (dialect) => {
  let engine: Engine;
  let url: string;

  beforeEach(async () => {
    url = await dialect.createMigrated();
    engine = createEngine(openForTest(url));
  });

  const now = () => toInstant(engine.clock.now());
  const later = () => instantIn(engine.clock, convergeLeaseMs);

  it('has everything that a call needs', async () => {
    await hire(engine, 1);
    expect(await claimOne(engine)).toMatchObject({
      tool: 'studio',
      groupId: 'street-signs',
      trainerId: 't1',
      token: 'worker',
      wanted: true,
      generation: 1,
      state: 'pending',
      memberId: null,
      isOurs: false,
      attempts: 0,
      email: 't1@opentrain.work',
      displayName: 'Amara O.',
    });
  });

  describe('has the name and address that the install of the membership knows', () => {
    const wish = { type: 'contract.started', trainer: 't1', contract: 'c1' };
    const acmes = fullEvent({ ...wish, id: '9', workEmail: 'acme@opentrain.work' });
    const globexes = fullEvent({ ...wish, id: '10', displayName: 'Zoe', workEmail: 'globex@opentrain.work' });

    it.each([
      ['acme', 'globex'],
      ['globex', 'acme'],
    ])('whatever address another install has, in each order of arrival: %s', async (...order) => {
      for (const install of order) {
        await engine.apply([install === 'acme' ? acmes : globexes], install);
      }
      const claimed = await claimDue(engine);
      const known = claimed.map(({ install, email, displayName }) => [install, email, displayName]);
      expect(known.toSorted()).toEqual([
        ['acme', 'acme@opentrain.work', 'Amara O.'],
        ['globex', 'globex@opentrain.work', 'Zoe'],
      ]);
    });

    it('and no longer those of an install whose reason has ended', async () => {
      await engine.apply([acmes], 'acme');
      await engine.apply([globexes], 'globex');
      await engine.apply([fullEvent({ ...wish, type: 'contract.ended' })], 'acme');
      expect(await claimOne(engine)).toMatchObject({
        install: 'globex',
        email: 'globex@opentrain.work',
        displayName: 'Zoe',
      });
    });
  });

  it('claims only for the given install', async () => {
    await hire(engine, 2);
    await engine.apply([numberedEvent('contract.started', 3)], 'globex');
    expect(await installsWithMembershipsDue(engine, 'studio', now())).toEqual(['acme', 'globex']);
    expect(await installsWithMembershipsDue(engine, 'elsewhere', now())).toEqual([]);
    const order = { tool: 'studio', token: 'w', now: now(), leasedUntil: later(), limit: 9 };
    const claimed = await claimMemberships(engine, { ...order, install: 'globex', exclusiveBy: [] });
    expect(claimed).toMatchObject([{ install: 'globex', trainerId: 't3' }]);
  });

  it.each([
    ['of a group', 'groupId', [1, 3]],
    ['of a person', 'trainerId', [1, 2]],
  ] as const)('takes one membership %s at a time where that is asked for', async (_, by, first) => {
    const changes = [
      { contract: 'c1', trainer: 't1', project: 'signs', link: 'l1' },
      { contract: 'c2', trainer: 't2', project: 'signs', link: 'l1' },
      { contract: 'c3', trainer: 't1', project: 'lamps', link: 'l2' },
    ];
    await engine.apply(changes.map((change) => fullEvent({ type: 'contract.started', ...change })));
    const [one, two, three] = (await engine.membershipRows()).map(({ id }) => id);
    const ids = [one, two, three];
    const claimed = await claimDue(engine, { exclusiveBy: [by] });
    expect(claimed.map(({ id }) => id).sort()).toEqual(first.map((number) => ids[number - 1]));
    expect(await claimDue(engine, { exclusiveBy: [by] })).toEqual([]);
    engine.clock.advance(convergeLeaseMs);
    expect(await claimDue(engine, { exclusiveBy: [by] })).toHaveLength(2);
  });

  it('never claims a removal that the brake has not cleared', async () => {
    await hire(engine, 1);
    const touched = { isOurs: true, memberId: 'm1', state: 'active', nextAttemptAt: null } as const;
    await engine.database.kysely.updateTable('membership').set(touched).execute();
    await engine.apply([numberedEvent('contract.ended', 1)]);
    // As it would be if something made it due all the same.
    await engine.database.kysely.updateTable('membership').set({ nextAttemptAt: now() }).execute();
    expect(await claimDue(engine)).toEqual([]);
    await engine.brake();
    expect(await claimDue(engine)).toMatchObject([{ wanted: false, generation: 2 }]);
  });

  it('holds back memberships from before a silence until their install is read', async () => {
    await hire(engine, 1);
    engine.clock.advance(1000);
    await holdInstalls(engine, ['acme'], now());
    expect(await claimDue(engine)).toEqual([]);
    engine.clock.advance(1000);
    await engine.apply([numberedEvent('contract.started', 2)]);
    expect(await claimDue(engine)).toMatchObject([{ trainerId: 't2' }]);

    await noteInstallRead(engine, { install: 'acme', beganAt: now() }, true);
    expect(await claimDue(engine)).toMatchObject([{ trainerId: 't1' }]);
  });

  it('makes failed memberships due at once when the tool answers again', async () => {
    await hire(engine, 2);
    const [failed] = await claimDue(engine);
    if (failed === undefined) throw new Error('nothing was due');
    const inAnHour = instantIn(engine.clock, 3_600_000);
    await settleMembership(
      engine,
      failed,
      { operation: 'add', outcome: 'failed', state: 'pending', nextAttemptAt: inAnHour },
      now(),
    );
    await retryFailedOfTool(engine, 'elsewhere', now());
    expect((await engine.membershipRows())[0]).toMatchObject({ nextAttemptAt: inAnHour });
    await retryFailedOfTool(engine, 'studio', now());
    expect((await engine.membershipRows())[0]).toMatchObject({ nextAttemptAt: now() });
  });

  it('never gives one membership to two workers', async () => {
    await hire(engine, 60);
    const other = openForTest(url);
    const databases = [engine.database, other];
    const claimed = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        claimDue(engine, { database: databases[index % 2], token: `w${index}`, limit: 5 }),
      ),
    );
    // Who finds everything in sight locked gets less than asked for; the rest is still due.
    const rest = await claimDue(engine, { token: 'last' });
    const ids = [...claimed.flat(), ...rest].map(({ id }) => id);
    expect(ids).toHaveLength(60);
    expect(new Set(ids).size).toBe(60);
    expect(await claimDue(engine, { token: 'unknown' })).toEqual([]);
  });

  it('does not prolong the lease for a call that is no longer wanted', async () => {
    await hire(engine, 1);
    const claim = await claimOne(engine);
    expect(await prolongClaim(engine, claim, now(), later())).toBe(true);
    await engine.apply([numberedEvent('contract.ended', 1)]);
    expect(await prolongClaim(engine, claim, now(), later())).toBe(false);
  });

  it('puts back only claims that it still holds', async () => {
    await hire(engine, 1);
    const late = await claimOne(engine, 'late');
    engine.clock.advance(convergeLeaseMs);
    const next = await claimOne(engine, 'next');
    await putBackClaim(engine, late, now());
    expect(await engine.membershipRows()).toMatchObject([{ leaseToken: 'next' }]);
    await putBackClaim(engine, next, now());
    expect(await engine.membershipRows()).toMatchObject([{ leaseToken: null }]);
  });
});
