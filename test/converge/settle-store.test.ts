import { beforeEach, describe, expect, it } from 'vitest';
import type { AccountUse } from '../../src/converge/account-store.ts';
import { type Claim, convergeLeaseMs, installsWithMembershipsDue } from '../../src/converge/claim-store.ts';
import type { ConvergeResult } from '../../src/converge/converge-result.ts';
import type { Intent } from '../../src/converge/receipt-store.ts';
import { commitIntent, settleMembership } from '../../src/converge/settle-store.ts';
import type { Row } from '../../src/db/schema.ts';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import { findKnownMembers } from '../../src/memberships/identity-store.ts';
import { claimDue, claimOne, converge, hire, numberedEvent, receiptsOf } from '../support/converging.ts';
import { describeEachDialect, openForTest, postgres } from '../support/databases.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { untilWaitForLocks } from '../support/lock-waiters.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { watchQueries } from '../support/watch-queries.ts';

const added: ConvergeResult = {
  operation: 'add',
  outcome: 'added',
  state: 'active',
  memberId: 'm1',
  isOurs: true,
  nextAttemptAt: null,
};
const removed: ConvergeResult = {
  operation: 'remove',
  outcome: 'removed',
  state: 'removed',
  isOurs: false,
  nextAttemptAt: null,
};
const endedAt = '2026-03-15T11:59:58.000Z';

describeEachDialect('the settle store', (dialect) => {
  let engine: Engine;

  beforeEach(async () => {
    engine = createEngine(openForTest(await dialect.createMigrated()));
  });

  const now = () => toInstant(engine.clock.now());
  const later = () => instantIn(engine.clock, convergeLeaseMs);

  const begin = (claim: Claim, intent: Intent) => commitIntent(engine, claim, intent, now(), later());
  const settle = (claim: Claim, result: ConvergeResult) => settleMembership(engine, claim, result, now());

  const change = (trainerId: string, values: Partial<Row<'membership'>>) =>
    engine.database.kysely.updateTable('membership').set(values).where('trainerId', '=', trainerId).execute();

  it('gives an expired lease to the next worker, and keeps only what the late one learnt', async () => {
    await hire(engine, 1);
    const late = await claimOne(engine, 'late');
    engine.clock.advance(convergeLeaseMs - 1);
    expect(await claimDue(engine)).toEqual([]);
    engine.clock.advance(1);
    const next = await claimOne(engine, 'next');
    expect(next.id).toBe(late.id);

    expect(await begin(late, { operation: 'add', found: null })).toBeNull();
    await settle(late, added);
    expect(await engine.membershipRows()).toMatchObject([
      // What it learnt is kept, and the tool is looked at again.
      { state: 'pending', leaseToken: 'next', memberId: 'm1', isOurs: true, lookAgain: true },
    ]);
    // What was done is on record all the same.
    expect(await receiptsOf(engine)).toEqual(['add added']);
  });

  it('knows whose ids are, even if a removed trainer has another membership', async () => {
    await hire(engine, 2);
    const [one] = (await claimDue(engine)).filter(({ trainerId }) => trainerId === 't1');
    if (one === undefined) throw new Error('nothing was due');
    await change('t1', { memberId: 'm1', state: 'active' });
    await change('t2', { memberId: 'm2', state: 'removed' });
    const known = async (of: Claim) =>
      [...(await findKnownMembers(engine.database.kysely, of, ['m1', 'm2', 'm3']))].toSorted();
    expect(await known(one)).toEqual(['m1', 'm2']);
    await change('t1', { memberId: 'm1', state: 'removed' });
    expect(await known(one)).toEqual(['m2']);
    expect(await known({ ...one, tool: 'other' })).toEqual([]);
  });

  it('requests another look after a late worker, even if the next one settles after it', async () => {
    await hire(engine, 1);
    const late = await claimOne(engine, 'late');
    engine.clock.advance(convergeLeaseMs);
    const next = await claimOne(engine, 'next');
    await settle(late, added);
    await settle(next, { ...added, outcome: 'already_member' });
    expect(await engine.membershipRows()).toMatchObject([{ nextAttemptAt: now(), leaseToken: null }]);
    expect(await claimDue(engine)).toHaveLength(1);
  });

  it('lets no call begin under an outdated generation', async () => {
    await hire(engine, 1);
    const claim = await claimOne(engine);
    await engine.apply([numberedEvent('contract.ended', 1)]);
    expect(await begin(claim, { operation: 'add', found: null })).toBeNull();
    expect(await engine.rows('intent')).toEqual([]);
    expect(await engine.membershipRows()).toMatchObject([{ isOurs: false, state: 'removed' }]);
  });

  it('lets no call begin while a new generation is being committed', async () => {
    await hire(engine, 1);
    const claim = await claimOne(engine);
    const { database } = engine;
    let begun: Promise<AccountUse | null> | undefined;
    engine.database = watchQueries(database, {
      'select membership': async (rows) => {
        if (begun !== undefined || !rows.some(({ leaseToken }) => leaseToken === claim.token)) return;
        engine.database = database;
        begun = begin(claim, { operation: 'add', found: null });
        // It waits for this transaction: SQLite has one writer, PostgreSQL says who waits for a row.
        if (dialect.name === 'postgres') await Promise.race([begun, untilWaitForLocks(database, 1)]);
      },
    });
    await engine.apply([numberedEvent('contract.ended', 1)]);
    expect(await begun).toBeNull();
    expect(await engine.rows('intent')).toEqual([]);
    expect(await engine.membershipRows()).toMatchObject([{ isOurs: false, state: 'removed' }]);
  });

  it('lets no call begin under an expired lease', async () => {
    await hire(engine, 1);
    const claim = await claimOne(engine);
    engine.clock.advance(convergeLeaseMs);
    const begun = begin(claim, { operation: 'add', found: null });
    expect(await begun).toBeNull();
  });

  it('prolongs the lease for a call that begins, and records the membership as ours', async () => {
    await hire(engine, 1);
    const claim = await claimOne(engine);
    engine.clock.advance(convergeLeaseMs - 1);
    const intent = { operation: 'add', found: null } as const;
    expect(await begin(claim, intent)).toEqual({
      isShared: false,
      isOfAnother: false,
      isLastOfAccount: false,
      isAccountOurs: false,
      groupsToLeave: [],
    });
    expect(await engine.membershipRows()).toMatchObject([{ leasedUntil: later(), isOurs: true }]);
    expect(await engine.rows('intent')).toMatchObject([
      { membershipId: claim.id, generation: 1, operation: 'add', wasFound: false, createdAt: now() },
    ]);
  });

  it('requests another look if the generation changed during the call', async () => {
    await hire(engine, 1);
    const claim = await claimOne(engine);
    await begin(claim, { operation: 'add', found: null });
    await engine.apply([numberedEvent('contract.ended', 1)]);
    await settle(claim, added);
    expect(await engine.membershipRows()).toMatchObject([
      {
        state: 'removing',
        generation: 2,
        memberId: 'm1',
        isOurs: true,
        // It is looked at again by being removed, and that is for the brake to let pass.
        removeAfter: endedAt,
        nextAttemptAt: null,
        leaseToken: null,
      },
    ]);
  });

  it('counts failures, and resets the count after a success', async () => {
    await hire(engine, 1);
    const failed: ConvergeResult = {
      operation: 'add',
      outcome: 'failed',
      state: 'pending',
      message: 'no answer',
      nextAttemptAt: now(),
      toolStatus: 503,
    };
    await settle(await claimOne(engine), failed);
    await settle(await claimOne(engine), failed);
    expect(await engine.membershipRows()).toMatchObject([{ attempts: 2, failure: 'no answer' }]);
    expect(await engine.rows('receipt')).toMatchObject([
      { toolStatus: 503, message: 'no answer' },
      { toolStatus: 503 },
    ]);
    await settle(await claimOne(engine), added);
    expect(await engine.membershipRows()).toMatchObject([{ attempts: 0, failure: null }]);
    expect(await installsWithMembershipsDue(engine, 'studio', now())).toEqual([]);
  });

  /** One person in two projects of the tool, added by us, and no longer on one contract. */
  async function leaveOne(second: object): Promise<Claim> {
    const signs = { contract: 'c1', trainer: 't1' };
    const lamps = { contract: 'c2', project: 'lamps', link: 'l2', ...second };
    const start = (changes: object) => fullEvent({ type: 'contract.started', ...changes });
    await engine.apply([start(signs), start(lamps)]);
    const there = { isOurs: true, memberId: 'm1', state: 'active', nextAttemptAt: null } as const;
    await engine.database.kysely.updateTable('membership').set(there).execute();
    await engine.apply([fullEvent({ type: 'contract.ended', ...signs })]);
    await engine.brake();
    return await claimOne(engine);
  }

  const remove = { operation: 'remove', found: { id: 'm1', email: null } } as const;

  it.each([
    ['the same person in another project', { trainer: 't1' }, false],
    ['another person of the same id in the tool', { trainer: 't2' }, false],
    [
      'another person of the same id in the same project',
      { trainer: 't2', project: 'street-signs', link: 'cml1' },
      true,
    ],
  ])('tells of an account that is in use for %s', async (_, second, isShared) => {
    const claim = await leaveOne(second);
    const begun = await begin(claim, remove);
    const isOfAnother = second.trainer !== 't1';
    expect(begun).toMatchObject({ isShared, isOfAnother, isLastOfAccount: false });
  });

  it('finds other memberships of the same account', async () => {
    const claim = await leaveOne({ trainer: 't1' });
    const { kysely } = engine.database;
    await kysely.updateTable('person').set({ workEmailDigest: null }).execute();
    await kysely.updateTable('membership').set({ memberId: 'm2' }).where('groupId', '=', 'lamps').execute();
    const begun = await begin(claim, remove);
    expect(begun).toMatchObject({ isShared: false, isOfAnother: false, isLastOfAccount: false });
  });

  it('finds other memberships by the address of the account', async () => {
    const claim = await leaveOne({ trainer: 't2', workEmail: 'T1@opentrain.work' });
    await change('t2', { memberId: null });
    const begun = await begin(claim, remove);
    expect(begun).toMatchObject({ isShared: false, isOfAnother: false, isLastOfAccount: false });
  });

  it('counts an account as in use until the brake has cleared all its memberships', async () => {
    const claim = await leaveOne({ trainer: 't1' });
    await engine.apply([fullEvent({ type: 'project_link.removed', project: 'lamps', link: 'l2' })]);
    const isLast = async () => (await begin(claim, remove))?.isLastOfAccount;
    // The other is about to be removed, and may yet be kept.
    expect(await isLast()).toBe(false);
    await engine.database.kysely
      .updateTable('membership')
      .set((eb) => ({ clearedGeneration: eb.ref('generation') }))
      .execute();
    expect(await isLast()).toBe(true);
  });

  it('looks at the other memberships of an account that is gone', async () => {
    const claim = await leaveOne({ trainer: 't1' });
    await settle(claim, removed);
    expect(await engine.membershipRows()).toMatchObject([
      { state: 'removed', isOurs: false, nextAttemptAt: null },
      { state: 'active', wanted: true, lookAgain: true, nextAttemptAt: now() },
    ]);
  });

  it('hands over an account that is kept for another person of ours', async () => {
    const claim = await leaveOne({ trainer: 't2', project: 'street-signs', link: 'cml1' });
    await change('t2', { isOurs: false });
    await settle(claim, { ...removed, outcome: 'kept_for_another' });
    expect(await engine.membershipRows()).toMatchObject([
      { trainerId: 't1', state: 'removed', isOurs: false },
      { trainerId: 't2', state: 'active', isOurs: true },
    ]);
  });
});

describe('the settle store (postgres), where several transactions write at once', () => {
  it('makes those ours who found the member just before the addition was recorded', async () => {
    const url = await postgres.createMigrated();
    const engine = createEngine(openForTest(url));
    const workEmail = 'same@opentrain.work';
    for (const install of ['acme', 'globex']) {
      await engine.apply([fullEvent({ type: 'contract.started', workEmail, trainer: install })], install);
    }
    const [adding, finding] = await claimDue(engine);
    if (adding === undefined || finding === undefined) throw new Error('not both were due');
    const tool = createMemoryTool('membership', { keyedBy: 'address', hasAccounts: true });
    let found: Promise<unknown> | undefined;
    const database = watchQueries(engine.database, {
      'insert account': async () => {
        found ??= converge(engine, tool, finding, { database: openForTest(url) });
        await found;
      },
    });
    expect(await converge(engine, tool, adding, { database })).toMatchObject({ outcome: 'added' });
    expect(await found).toMatchObject({ outcome: 'already_member' });
    expect(await engine.membershipRows()).toMatchObject([{ isOurs: true }, { isOurs: true }]);
  });
});
