import { describe, expect, it, onTestFinished } from 'vitest';
import { convergeLeaseMs, prolongClaim } from '../../../src/converge/claim-store.ts';
import { commitIntent, settleMembership } from '../../../src/converge/settle-store.ts';
import { createAliveLock } from '../../../src/db/alive-lock.ts';
import { type Database, inTransaction } from '../../../src/db/database.ts';
import { instantIn, toInstant } from '../../../src/lib/clock.ts';
import { acmeSecret, startBridge, writeBridgeConfig } from '../../support/bridge-process.ts';
import { openBridgeState } from '../../support/bridge-state.ts';
import { claimDue, hire } from '../../support/converging.ts';
import { openForTest, sqlite } from '../../support/databases.ts';
import { createEngine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createFolder } from '../../support/folder.ts';
import { listRoster } from '../../support/roster.ts';
import { createSender } from '../../support/sender.ts';
import { until } from '../../support/until.ts';

/** Far longer than any test waits: what goes on at all goes on without it. */
const longMs = 3_600_000;

async function lockTool(database: Database, leasedUntil: string): Promise<void> {
  await inTransaction(database, (tx) =>
    tx
      .insertInto('namedLock')
      .values({ name: 'tool:list', token: 'dead', leasedUntil })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ leasedUntil, token: 'dead' }))
      .execute(),
  );
}

describe('killed and started again, on SQLite', () => {
  it('takes over at once what the dead process had leased', async () => {
    const setup = writeBridgeConfig(createFolder(), await sqlite.createMigrated());
    const { database } = openBridgeState(setup.databaseUrl);
    const killed = await startBridge(setup);
    await killed.kill();
    const leasedUntil = new Date(Date.now() + longMs).toISOString();
    await lockTool(database, leasedUntil);

    const again = await startBridge(setup);
    const createdAt = new Date().toISOString();
    const sender = createSender(acmeSecret, 1);
    const hired = fullEvent({ type: 'contract.started', createdAt });
    expect(await sender.send(again.url, hired, 'd1')).toMatchObject({ said: 'accepted' });
    await until(
      'they are added',
      () => listRoster(setup.rosterFile),
      (ids) => ids.length > 0,
    );
    expect(await again.stop()).toBe(0);
  });

  it('is refused beside a living process, and leaves alone what that one has leased', async () => {
    const setup = writeBridgeConfig(createFolder(), await sqlite.createMigrated());
    const { database } = openBridgeState(setup.databaseUrl);
    const living = await startBridge(setup);
    const leasedUntil = new Date(Date.now() + longMs).toISOString();
    await lockTool(database, leasedUntil);
    await expect(startBridge(setup)).rejects.toThrow(
      /ended with 1: .*already runs on this SQLite database: stop it first/,
    );
    const lock = () => database.kysely.selectFrom('namedLock').selectAll().execute();
    expect(await lock()).toContainEqual({ name: 'tool:list', token: 'dead', leasedUntil });
    expect(await living.stop()).toBe(0);
    expect(await (await startBridge(setup)).stop()).toBe(0);
  });

  /** Two memberships that a worker has leased, and the lock of the process after it. */
  async function openWithLeases() {
    const engine = createEngine(openForTest(await sqlite.createMigrated()));
    const { database, clock } = engine;
    await hire(engine, 2);
    const [calling] = await claimDue(engine);
    if (calling === undefined) throw new Error('nothing was claimed');
    return {
      ...engine,
      calling,
      now: () => toInstant(clock.now()),
      leaseEnd: () => instantIn(clock, convergeLeaseMs),
      /** By membership, until when a lease holds. */
      async leased() {
        const now = toInstant(clock.now());
        const rows = (await engine.membershipRows()).filter(({ leasedUntil }) => (leasedUntil ?? '') > now);
        return new Map(rows.map(({ id, leasedUntil }) => [id, leasedUntil]));
      },
      async startNext(localTools: string[] = []) {
        const lock = createAliveLock(database, clock, localTools);
        await lock.hold('command');
        onTestFinished(lock.release);
      },
    };
  }

  const adding = { operation: 'add', found: null } as const;

  it('waits for a call to a tool that may still be on its way', async () => {
    const engine = await openWithLeases();
    const { calling, now, leaseEnd, leased, startNext } = engine;
    await commitIntent(engine, calling, adding, now(), leaseEnd());
    const endsAt = leaseEnd();
    expect(await leased()).toHaveProperty('size', 2);
    await startNext();
    expect(await leased()).toEqual(new Map([[calling.id, endsAt]]));
  });

  it('waits for no call that died with its process, such as the write of a file', async () => {
    const engine = await openWithLeases();
    const { calling, now, leaseEnd, leased, membershipRows, startNext } = engine;
    await commitIntent(engine, calling, adding, now(), leaseEnd());
    await startNext([calling.tool]);
    expect(await leased()).toEqual(new Map());
    expect((await membershipRows()).find(({ id }) => id === calling.id)).toMatchObject({ lateUntil: now() });
  });

  it('waits for a call without an intent of its own, which ends assignments', async () => {
    const engine = await openWithLeases();
    const { calling, now, leaseEnd, leased, startNext } = engine;
    expect(await prolongClaim(engine, calling, now(), leaseEnd())).toBe(true);
    await startNext();
    expect([...(await leased()).keys()]).toEqual([calling.id]);
  });

  it('waits for no call that can no longer arrive, though it has no recorded outcome', async () => {
    const engine = await openWithLeases();
    const { calling, now, leaseEnd, clock, leased, startNext } = engine;
    await commitIntent(engine, calling, adding, now(), leaseEnd());
    clock.advance(convergeLeaseMs);
    expect(await claimDue(engine)).toHaveLength(2);
    await startNext();
    expect(await leased()).toEqual(new Map());
  });

  it('waits no longer than a call may arrive, if its membership was leased again', async () => {
    const engine = await openWithLeases();
    const { calling, now, leaseEnd, clock, leased, startNext } = engine;
    await commitIntent(engine, calling, adding, now(), leaseEnd());
    const arrivesBy = leaseEnd();
    clock.advance(convergeLeaseMs / 2);
    const unanswered = { operation: 'add', outcome: 'failed', state: 'pending', isUnanswered: true } as const;
    await settleMembership(engine, calling, { ...unanswered, nextAttemptAt: now() }, now());
    expect(await claimDue(engine)).toMatchObject([{ id: calling.id }]);
    expect((await leased()).get(calling.id)).toBe(leaseEnd());
    await startNext();
    expect(await leased()).toEqual(new Map([[calling.id, arrivesBy]]));
  });
});
