import { describe, expect, it, onTestFinished } from 'vitest';
import { createAliveLock } from '../../../src/db/alive-lock.ts';
import { type Database, inTransaction } from '../../../src/db/database.ts';
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
  it('goes on at once with what the dead process had leased', async () => {
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

  it('leaves what another process has leased that lives', async () => {
    const setup = writeBridgeConfig(createFolder(), await sqlite.createMigrated());
    const { database } = openBridgeState(setup.databaseUrl);
    const living = await startBridge(setup);
    const leasedUntil = new Date(Date.now() + longMs).toISOString();
    await lockTool(database, leasedUntil);
    const killed = await startBridge(setup);
    await killed.kill();
    const again = await startBridge(setup);
    const lock = () => database.kysely.selectFrom('namedLock').selectAll().execute();
    expect(await lock()).toContainEqual({ name: 'tool:list', token: 'dead', leasedUntil });
    expect(await Promise.all([living.stop(), again.stop()])).toEqual([0, 0]);
  });

  async function openWithLeases() {
    const engine = createEngine(openForTest(await sqlite.createMigrated()));
    await hire(engine, 2);
    const [calling] = await claimDue(engine);
    if (calling === undefined) throw new Error('nothing was claimed');
    const begun = { membershipId: calling.id, generation: calling.generation, wasFound: 0 };
    await engine.database.kysely
      .insertInto('intent')
      .values({ ...begun, operation: 'add', createdAt: engine.clock.now().toISOString() })
      .execute();
    const now = engine.clock.now();
    const leased = async () =>
      (await engine.membershipRows())
        .filter(({ leasedUntil }) => (leasedUntil ?? '') > now.toISOString())
        .map(({ id }) => id);
    const [first, second] = (await engine.membershipRows()).map(({ id }) => id);
    expect([await leased(), calling.id]).toEqual([[first, second], first]);
    return { ...engine, leased, calling };
  }

  it('waits for a call to a tool that may still be on its way', async () => {
    const { database, clock, leased, calling } = await openWithLeases();
    const lock = createAliveLock(database, clock);
    await lock.hold();
    onTestFinished(lock.release);
    expect(await leased()).toEqual([calling.id]);
  });

  it('waits for all leases where no lock keeps another process out', async () => {
    const { database, clock, leased } = await openWithLeases();
    const lock = createAliveLock(database, clock, async () => false);
    await lock.hold();
    onTestFinished(lock.release);
    expect(await leased()).toHaveLength(2);
  });
});
