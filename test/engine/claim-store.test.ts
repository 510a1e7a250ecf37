import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import type { Claim, Result } from '../../src/engine/claim-store.ts';
import { leaseMs } from '../../src/engine/converge-membership.ts';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import { claimDue, openClaims, receiptsOf } from '../support/converging.ts';
import { describeEachDialect, openForTest } from '../support/databases.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { until } from '../support/until.ts';

const added: Result = {
  ...{ operation: 'add', outcome: 'added', state: 'active' },
  ...{ memberId: 'm1', isOurs: true, nextAttemptAt: null },
};

function event(type: string, number: number): string {
  return fullEvent({ type, contract: `c${number}`, trainer: `t${number}` });
}

describeEachDialect('the claim store', (dialect) => {
  let engine: Engine;
  let url: string;

  beforeEach(async () => {
    url = await dialect.createMigrated();
    engine = createEngine(openForTest(url));
  });

  const now = () => toInstant(engine.clock.now());
  const later = () => instantIn(engine.clock, leaseMs);

  async function hire(count: number): Promise<void> {
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    await engine.apply(numbers.map((number) => event('contract.started', number)));
  }

  async function claimOne(token = 'worker'): Promise<Claim> {
    const [claim] = await claimDue(engine, { token, limit: 1 });
    if (claim === undefined) throw new Error('nothing was due');
    return claim;
  }

  it('says what there is to know for a call', async () => {
    await hire(1);
    expect(await claimOne()).toMatchObject({
      ...{ tool: 'studio', groupId: 'street-signs', trainerId: 't1', token: 'worker' },
      ...{ wanted: true, generation: 1, state: 'pending', memberId: null, isOurs: false },
      ...{ attempts: 0, email: 't1@opentrain.work', displayName: 'Amara O.' },
    });
  });

  it('takes the newest of what the installs know of a person', async () => {
    const wish = { type: 'contract.started', trainer: 't1', contract: 'c1' };
    const old = fullEvent({ ...wish, id: '9', workEmail: 'old@opentrain.work' });
    const newer = fullEvent({ ...wish, id: '10', workEmail: 'new@opentrain.work' });
    await engine.apply([newer], 'globex');
    await engine.apply([old], 'acme');
    expect(await claimOne()).toMatchObject({ email: 'new@opentrain.work' });
  });

  it('never gives one membership to two workers', async () => {
    await hire(60);
    const other = openForTest(url);
    const stores = [openClaims(engine), openClaims(engine, other)];
    const claimed = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        claimDue(engine, { claims: stores[index % 2], token: `w${index}`, limit: 5 }),
      ),
    );
    // Who finds everything in sight locked gets less than asked for; the rest is still due.
    const rest = await claimDue(engine, { token: 'last' });
    const ids = [...claimed.flat(), ...rest].map(({ id }) => id);
    expect(ids).toHaveLength(60);
    expect(new Set(ids).size).toBe(60);
    expect(await claimDue(engine, { token: 'nobody' })).toEqual([]);
  });

  it('gives a lease that has run out to the next, and lets the late one settle nothing', async () => {
    await hire(1);
    const late = await claimOne('late');
    engine.clock.advance(leaseMs - 1);
    expect(await claimDue(engine)).toEqual([]);
    engine.clock.advance(1);
    const next = await claimOne('next');
    expect(next.id).toBe(late.id);

    const claims = openClaims(engine);
    expect(await claims.begin(late, { operation: 'add', isFound: false }, now(), later())).toBe(
      false,
    );
    await claims.settle(late, added, now());
    expect(await engine.membershipRows()).toMatchObject([
      { state: 'pending', memberId: null, nextAttemptAt: now() },
    ]);
    // What was done is on record all the same.
    expect(await receiptsOf(engine)).toEqual(['add added']);
  });

  it('looks once more after a late one, even where the next settles after it', async () => {
    await hire(1);
    const late = await claimOne('late');
    engine.clock.advance(leaseMs);
    const next = await claimOne('next');
    const claims = openClaims(engine);
    await claims.settle(late, added, now());
    await claims.settle(next, { ...added, outcome: 'already_member' }, now());
    expect(await engine.membershipRows()).toMatchObject([
      { nextAttemptAt: now(), leaseToken: null },
    ]);
    expect(await claimDue(engine)).toHaveLength(1);
  });

  it('lets no call begin once something else is wanted', async () => {
    await hire(1);
    const claim = await claimOne();
    await engine.apply([event('contract.ended', 1)]);
    const claims = openClaims(engine);
    expect(await claims.begin(claim, { operation: 'add', isFound: false }, now(), later())).toBe(
      false,
    );
    expect(await engine.rows('intent')).toEqual([]);
    expect(await engine.membershipRows()).toMatchObject([{ isOurs: 0, state: 'removed' }]);
  });

  it('lets no call begin while it is being decided that something else is wanted', async () => {
    await hire(1);
    const claim = await claimOne();
    const { memberships } = engine;
    const { membershipsOf } = memberships;
    let begun = Promise.resolve(true);
    memberships.membershipsOf = async (tx, trainerIds) => {
      const rows = await membershipsOf(tx, trainerIds);
      const intent = { operation: 'add', isFound: false } as const;
      begun = openClaims(engine).begin(claim, intent, now(), later());
      // It waits for this transaction: SQLite has one writer, PostgreSQL says who waits for a row.
      if (dialect.name === 'postgres') await Promise.race([begun, untilSomebodyWaits(engine)]);
      return rows;
    };
    await engine.apply([event('contract.ended', 1)]);
    expect(await begun).toBe(false);
    expect(await engine.rows('intent')).toEqual([]);
    expect(await engine.membershipRows()).toMatchObject([{ isOurs: 0, state: 'removed' }]);
  });

  it('lets no call begin on a lease that has run out', async () => {
    await hire(1);
    const claim = await claimOne();
    engine.clock.advance(leaseMs);
    const begun = openClaims(engine).begin(
      claim,
      { operation: 'add', isFound: false },
      now(),
      later(),
    );
    expect(await begun).toBe(false);
  });

  it('prolongs the lease for a call that begins, and remembers the person as ours', async () => {
    await hire(1);
    const claim = await claimOne();
    engine.clock.advance(leaseMs - 1);
    const intent = { operation: 'add', isFound: false } as const;
    expect(await openClaims(engine).begin(claim, intent, now(), later())).toBe(true);
    expect(await engine.membershipRows()).toMatchObject([{ leasedUntil: later(), isOurs: 1 }]);
    expect(await engine.rows('intent')).toMatchObject([
      { membershipId: claim.id, generation: 1, operation: 'add', wasFound: 0, createdAt: now() },
    ]);
  });

  it('asks for another look where something else came to be wanted during the call', async () => {
    await hire(1);
    const claim = await claimOne();
    const claims = openClaims(engine);
    await claims.begin(claim, { operation: 'add', isFound: false }, now(), later());
    await engine.apply([event('contract.ended', 1)]);
    await claims.settle(claim, added, now());
    expect(await engine.membershipRows()).toMatchObject([
      {
        ...{ state: 'removing', generation: 2, memberId: 'm1', isOurs: 1 },
        ...{ nextAttemptAt: now(), leaseToken: null },
      },
    ]);
  });

  it('counts failures, and forgets them after a success', async () => {
    await hire(1);
    const failed: Result = {
      ...{ operation: 'add', outcome: 'failed', state: 'pending', message: 'no answer' },
      ...{ nextAttemptAt: now(), toolStatus: 503 },
    };
    await openClaims(engine).settle(await claimOne(), failed, now());
    await openClaims(engine).settle(await claimOne(), failed, now());
    expect(await engine.membershipRows()).toMatchObject([{ attempts: 2, failure: 'no answer' }]);
    expect(await engine.rows('receipt')).toMatchObject([
      { toolStatus: 503, message: 'no answer' },
      { toolStatus: 503 },
    ]);
    await openClaims(engine).settle(await claimOne(), added, now());
    expect(await engine.membershipRows()).toMatchObject([{ attempts: 0, failure: null }]);
    expect(await openClaims(engine).hasDue('studio', now())).toBe(false);
  });

  it('puts back only what it still holds', async () => {
    await hire(1);
    const late = await claimOne('late');
    engine.clock.advance(leaseMs);
    const next = await claimOne('next');
    await openClaims(engine).putBack(late, now());
    expect(await engine.membershipRows()).toMatchObject([{ leaseToken: 'next' }]);
    await openClaims(engine).putBack(next, now());
    expect(await engine.membershipRows()).toMatchObject([{ leaseToken: null }]);
  });
});

async function untilSomebodyWaits({ database }: Engine): Promise<void> {
  const waiting = sql<{ count: number }>`select count(*) as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  const count = async () => (await waiting.execute(database.kysely)).rows[0]?.count ?? 0;
  await until('somebody waits for a lock', count, (waiters) => waiters > 0);
}
