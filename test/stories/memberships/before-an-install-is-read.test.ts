import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { hasPostponed, postponeDerivation } from '../../../src/memberships/derivation-store.ts';
import { holdInstalls, noteInstallRead } from '../../../src/reconcile/read/install-state-store.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const minuteMs = 60_000;
const hired = fullEvent({ type: 'contract.started' });
const unlinked = fullEvent({ type: 'project_link.removed' });

describeAnyDatabase('before an install is read after a silence', (openFresh) => {
  it('takes in no delivery from before, and every one since', async () => {
    const engine = createEngine(await openFresh());
    await engine.deliver([hired]);
    engine.clock.advance(minuteMs);
    await hold(engine);
    await engine.deliver([fullEvent({ type: 'contract.started', trainer: 'new', contract: 'n' })]);
    await engine.takeIn();
    expect(await trainersOf(engine)).toEqual(['new']);
    await read(engine);
    await engine.takeIn();
    expect(await trainersOf(engine)).toEqual(['cmu1', 'new']);
  });

  it('derives no trainer who was waiting before, unless new evidence arrives', async () => {
    const engine = await openWithMember(await openFresh());
    await postpone(engine);
    expect(await hasPostponed(engine)).toBe(true);
    await hold(engine);
    expect(await hasPostponed(engine)).toBe(false);
    await engine.takeIn();
    expect(await engine.rows('derivation')).toHaveLength(1);
    await read(engine);
    expect(await hasPostponed(engine)).toBe(true);
    await engine.takeIn();
    expect(await engine.rows('derivation')).toEqual([]);

    await hold(engine);
    await postpone(engine);
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'another' })]);
    expect(await engine.rows('derivation')).toEqual([]);
  });
});

describeAnyDatabase('the brake', (openFresh) => {
  it('removes no trainer who is still to be derived', async () => {
    const engine = await openWithMember(await openFresh());
    await engine.apply([unlinked]);
    engine.clock.advance(20 * minuteMs);
    await postpone(engine);
    await engine.brake();
    expect(await engine.rows('removal')).toEqual([]);
    await engine.takeIn();
    await engine.brake();
    expect(await engine.rows('removal')).toHaveLength(1);
  });
});

type Fresh = Parameters<typeof createEngine>[0];

/** A trainer who is in the tool by our doing. */
async function openWithMember(database: Fresh): Promise<Engine> {
  const engine = createEngine(database);
  await engine.apply([hired]);
  await makeMembers(engine);
  engine.clock.advance(minuteMs);
  return engine;
}

async function makeMembers({ database }: Engine): Promise<void> {
  const member = { isOurs: true, memberId: 'm1', state: 'active', nextAttemptAt: null } as const;
  const pending = database.kysely.updateTable('membership').where('state', '=', 'pending');
  await pending.set(member).execute();
}

async function hold(engine: Engine): Promise<void> {
  await holdInstalls(engine, ['acme'], nowOf(engine));
}

async function read(engine: Engine): Promise<void> {
  engine.clock.advance(minuteMs);
  await noteInstallRead(engine, { install: 'acme', beganAt: nowOf(engine) }, true);
}

async function postpone(ctx: Engine): Promise<void> {
  await inTransaction(ctx.database, (tx) => postponeDerivation(tx, [{ install: 'acme', trainerId: 'cmu1' }]));
}

function nowOf({ clock }: Engine): string {
  return toInstant(clock.now());
}

async function trainersOf(engine: Engine): Promise<string[]> {
  return (await engine.membershipRows()).map(({ trainerId }) => trainerId).sort();
}
