import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { requestReads } from '../../../src/evidence/read-request-store.ts';
import {
  listOldestWaiting,
  oldestWaiting,
  type Waiting,
  type WaitingKind,
} from '../../../src/http/console/measure-store.ts';
import { wantRead } from '../../../src/reconcile/read/install-state-store.ts';
import { convergeDue } from '../../support/converging.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { minutes } from '../../support/incident.ts';
import { inviteAll } from '../../support/invite.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const at = '2026-03-15T12:00:00.000Z';
const later = '2026-03-15T12:10:00.000Z';

describeAnyDatabase('the oldest thing that waits', (openFresh) => {
  let engine: Engine;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
  });

  const started = (number: number, wish: object = {}) =>
    fullEvent({
      type: 'contract.started',
      id: `1${number}`,
      trainer: `cmu${number}`,
      contract: `cmc${number}`,
      ...wish,
    });

  async function takeInBoth(wish: object): Promise<void> {
    await engine.apply([started(1, wish)]);
    engine.clock.advance(10 * minutes);
    await engine.apply([started(2, wish)]);
  }

  async function fill(table: 'plan' | 'dispatch' | 'usage_ledger', rows: object[]): Promise<void> {
    const { kysely } = engine.database;
    for (const row of rows) {
      const columns = sql.join(Object.keys(row).map((column) => sql.ref(column)));
      await sql`insert into ${sql.table(table)} (${columns})
        values (${sql.join(Object.values(row))})`.execute(kysely);
    }
  }

  const oldest = (kind: WaitingKind, since = at, install: string | null = null): Waiting => ({ kind, install, since });

  it('is nothing at first', async () => {
    expect(await listOldestWaiting(engine.database)).toEqual([]);
  });

  it('may be a delivery that is not handled', async () => {
    await engine.deliver([started(1)]);
    engine.clock.advance(10 * minutes);
    await engine.deliver([started(2), started(3)]);
    expect(await listOldestWaiting(engine.database)).toEqual([oldest('delivery')]);
    await engine.deliver([started(4)], 'globex');
    expect(await listOldestWaiting(engine.database)).toEqual([oldest('delivery'), oldest('delivery', later)]);
    await engine.takeIn();
    const kinds = (await listOldestWaiting(engine.database)).map(({ kind }) => kind);
    expect(kinds).not.toContain('delivery');
  });

  it('may be a contract or an install to read, for each install', async () => {
    await inTransaction(engine.database, async (tx) => {
      await requestReads(tx, [{ install: 'acme', contractId: 'cmc1' }], later);
      await requestReads(tx, [{ install: 'acme', contractId: 'cmc2' }], at);
      await requestReads(tx, [{ install: 'globex', contractId: 'cmc1' }], later);
      await wantRead(tx, ['acme'], at);
    });
    const found = await listOldestWaiting(engine.database);
    expect(found).toHaveLength(3);
    expect(found).toEqual(
      expect.arrayContaining([
        oldest('read_request', at, 'acme'),
        oldest('read_request', later, 'globex'),
        oldest('install_read', at, 'acme'),
      ]),
    );
  });

  it('may be a trainer to let in, with or without an address', async () => {
    await takeInBoth({});
    expect(await listOldestWaiting(engine.database)).toEqual([oldest('membership')]);
    await convergeDue(engine, createMemoryTool());
    expect(await listOldestWaiting(engine.database)).toEqual([]);
    await engine.apply([started(3, { workEmail: null })]);
    expect(await listOldestWaiting(engine.database)).toEqual([oldest('work_email', later)]);
  });

  it('may be a trainer to remove, since the removal became due', async () => {
    const tool = createMemoryTool();
    await engine.apply([started(1)]);
    await convergeDue(engine, tool);
    await engine.apply([fullEvent({ type: 'contract.ended' })]);
    expect(await listOldestWaiting(engine.database)).toEqual([oldest('removal')]);
    await convergeDue(engine, tool);
    expect(await listOldestWaiting(engine.database)).toEqual([]);
  });

  it('may be an open plan, but not a decided one', async () => {
    await fill('plan', [
      { install: 'acme', state: 'rejected', created_at: at, decided_at: later },
      { install: 'acme', state: 'open', created_at: later },
    ]);
    expect(await listOldestWaiting(engine.database)).toEqual([oldest('removal_held', later)]);
  });

  it('may be the invitation of a wanted trainer, until it is delivered', async () => {
    await takeInBoth({});
    await convergeDue(engine, createMemoryTool());
    await inviteAll(engine);
    const [, second] = await engine.membershipRows();
    const { kysely } = engine.database;
    const ofSecond = kysely.updateTable('invitation').where('membershipId', '=', second?.id ?? 0);
    await ofSecond.set({ createdAt: later }).execute();
    expect(await listOldestWaiting(engine.database)).toEqual([oldest('invitation')]);
    await engine.apply([fullEvent({ type: 'contract.ended' })]);
    expect(await listOldestWaiting(engine.database)).toContainEqual(oldest('invitation', later));
    await kysely.updateTable('invitation').set({ deliveredAt: later, content: null }).execute();
    expect(await listOldestWaiting(engine.database)).toEqual([oldest('removal', later)]);
  });

  it('may be a held lowering or an unsent notification', async () => {
    const day = { install: 'acme', contract_id: 'cmc1', trainer_id: 'cmu1', state: 'answered', report_id: 'r' };
    await fill('usage_ledger', [
      { ...day, day: '2026-03-01', sent_at: at, lowering_held_at: later },
      { ...day, day: '2026-03-02', sent_at: at },
    ]);
    const { id } = await engine.database.kysely
      .insertInto('notice')
      .values({
        kind: 'budget.low',
        install: 'acme',
        contractId: 'cmc1',
        occurredAt: at,
        isRepeat: false,
        budget: '{}',
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    await fill('dispatch', [
      { notice_id: id, channel: 'team', state: 'sent', created_at: at, settled_at: later },
      { notice_id: id, channel: 'team', created_at: later },
    ]);
    expect(await listOldestWaiting(engine.database)).toEqual([
      oldest('lowering_held', later),
      oldest('notification', later),
    ]);
  });

  const indexes: [WaitingKind, string][] = [
    ['delivery', 'delivery_turn'],
    ['read_request', 'read_request_wanted'],
    ['work_email', 'membership_unmet'],
    ['membership', 'membership_unmet'],
    ['removal', 'membership_unmet'],
    ['removal_held', 'plan_open'],
    ['invitation', 'invitation_undelivered'],
    ['lowering_held', 'usage_ledger_lowering_held'],
    ['notification', 'dispatch_settled'],
  ];

  it.each(indexes)('is found without reading a whole table: %s, with the index %s', async (kind, index) => {
    const { dialect, kysely } = engine.database;
    const plan = await kysely.transaction().execute(async (tx) => {
      if (dialect === 'sqlite') return await sql`explain query plan ${oldestWaiting[kind]}`.execute(tx);
      // Empty tables are read whole unless that is forbidden.
      await sql`set local enable_seqscan = off`.execute(tx);
      return await sql`explain ${oldestWaiting[kind]}`.execute(tx);
    });
    const lines = plan.rows.map((row) => JSON.stringify(row));
    expect(lines.join('\n')).toContain(index);
    const wholeTable = /Seq Scan on|SCAN (?!turn|CONSTANT|\(|.* USING (COVERING )?INDEX)\w+/;
    expect(lines.filter((line) => wholeTable.test(line))).toEqual([]);
  });
});
