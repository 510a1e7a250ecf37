import { beforeEach, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import type { Row } from '../../src/db/schema.ts';
import { writeSetting } from '../../src/db/setting-store.ts';
import { emptyContract, emptyEvidence } from '../../src/domain/evidence.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { countDeliveries } from '../../src/inbox/delivery-list-store.ts';
import { postponeDelivery } from '../../src/inbox/inbox-store.ts';
import { claimJob, dropJob, postponeJob } from '../../src/jobs/job-store.ts';
import { listContracts } from '../../src/operations/contracts.ts';
import { loadStatus, type Status } from '../../src/operations/status.ts';
import { holdInstalls, noteInstallRead } from '../../src/reconcile/read/install-state-store.ts';
import { forgetSubscriptionTroubles, noteSubscriptionCheck } from '../../src/subscription/subscription-store.ts';
import { noBudget } from '../support/budgets.ts';
import { convergeDue } from '../support/converging.ts';
import { newDelivery } from '../support/deliveries.ts';
import { createEngine, type Engine, inStudio, limitRemovals } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { insert } from '../support/insert.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { countTroublesIn, troublesIn } from '../support/troubles.ts';

const installs = new Map([['acme', inStudio()]]);
const hour = '2026-03-15T11:00:00.000Z';

describeAnyDatabase('how it is doing', (openFresh) => {
  let engine: Engine;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
  });

  const load = (since = hour): Promise<Status> => loadStatus({ ...engine, installs }, since);
  const troubles = () => troublesIn(engine);
  const counts = () => countTroublesIn(engine);

  it('needs only a start on a new database', async () => {
    expect(await counts()).toEqual([]);
    await engine.database.kysely.deleteFrom('instance').execute();
    expect(await load()).toEqual({
      since: hour,
      memberships: [],
      deliveries: [],
      receipts: [],
      removals: [],
      installs: [expect.objectContaining({ install: 'acme', readAt: null })],
      plans: [],
      budgets: [],
      lowered: [],
      times: [],
      instances: [],
      troubles: [expect.objectContaining({ kind: 'nothing_runs', severity: 'down', since: null })],
    });
  });

  it('counts what is stored and what has happened', async () => {
    await engine.deliver([fullEvent({ type: 'contract.started' }), '{"type": "payout.sent"}']);
    await engine.takeIn();
    await convergeDue(engine, createMemoryTool());
    await engine.apply([fullEvent({ type: 'contract.ended', id: '2' })]);
    await engine.brake();
    expect(await load()).toMatchObject({
      memberships: [{ tool: 'studio', state: 'removing', count: 1 }],
      deliveries: [
        { install: 'acme', state: 'handled', count: 1 },
        { install: 'acme', state: 'ignored', count: 1 },
      ],
      receipts: [{ tool: 'studio', outcome: 'added', count: 1 }],
      removals: [{ install: 'acme', clearance: 'delivered', count: 1 }],
    });
    expect(await counts()).toEqual([]);
    const none = { deliveries: [], receipts: [], removals: [] };
    expect(await load('2026-03-15T12:00:00.001Z')).toMatchObject(none);
    expect(await load('2026-03-15T12:00:00.000Z')).not.toMatchObject(none);
  });

  it('says what needs the operator, and what to do', async () => {
    limitRemovals(engine, { max: 0 });
    const read = { ...emptyContract('acme', 'cmc9'), activeReadAt: '2026-03-15T12:30:00.000Z' };
    const disputed = { ...read, endedEventAt: '2026-03-15T12:00:00.000Z' };
    const crossed = { ...read, contractId: 'cmc8', endedEventAt: '2026-03-15T12:29:00.000Z' };
    await engine.apply([fullEvent({ type: 'contract.started' })]);
    await convergeDue(engine, createMemoryTool());
    await engine.apply([fullEvent({ type: 'contract.ended', id: '2' })]);
    await engine.brake();
    await engine.merge({ ...emptyEvidence(), contracts: [disputed, crossed] });
    const second = { type: 'contract.started', contract: 'cmc2', trainer: 'cmu2' };
    await engine.apply([fullEvent({ ...second, workEmail: null })]);
    expect(await troubles()).toMatchObject([
      { kind: 'removals_held', install: 'acme', count: 1, page: '/plans/1' },
      { kind: 'work_email_missing', install: 'acme', count: 1, page: '/access?state=waiting_email' },
      { kind: 'contract_disputed', count: 1, page: '/contracts?status=disputed&install=acme' },
    ]);
  });

  it("shows an operator's end as disputed, after the marketplace contradicted it for an hour, until the contract is reopened", async () => {
    const endedByOperatorAt = '2026-03-15T10:00:00.000Z';
    const read = async (activeReadAt: string) =>
      await engine.merge({ ...emptyEvidence(), contracts: [{ ...emptyContract('acme', 'cmc1'), activeReadAt }] });
    const ended = { ...emptyContract('acme', 'cmc1'), startedEventAt: hour, endedByOperatorAt };
    await engine.merge({ ...emptyEvidence(), contracts: [ended] });
    const shown = async () => (await listContracts(engine, { limit: 10 })).map(({ status }) => status);
    await read('2026-03-15T10:59:59.000Z');
    expect([await counts(), await shown()]).toEqual([[], ['ended']]);
    await read('2026-03-15T11:00:00.000Z');
    expect([await counts(), await shown()]).toEqual([['contract_disputed 1'], ['disputed']]);
    const reopened = { ...emptyContract('acme', 'cmc1'), reopenedAt: '2026-03-15T12:00:00.000Z' };
    await engine.merge({ ...emptyEvidence(), contracts: [reopened] });
    expect([await counts(), await shown()]).toEqual([[], ['active']]);
  });

  it('names orphaned and refused members', async () => {
    await engine.apply([fullEvent({ type: 'contract.started' })]);
    const setState = (state: 'failed' | 'orphaned') =>
      engine.database.kysely.updateTable('membership').set({ state }).execute();
    await setState('orphaned');
    expect(await counts()).toEqual(['membership_orphaned 1']);
    await setState('failed');
    expect(await counts()).toEqual(['membership_failed 1']);
  });

  it('names what keeps the deliveries of a configured install away', async () => {
    const trouble = { says: 'nothing is delivered', action: 'gangway endpoint rotate acme' };
    await noteSubscriptionCheck(engine, 'acme', hour, trouble);
    await noteSubscriptionCheck(engine, 'globex', hour, trouble);
    const { says: detail, action } = trouble;
    expect(await troubles()).toMatchObject([{ kind: 'endpoint_trouble', install: 'acme', detail, action }]);
    await forgetSubscriptionTroubles(engine);
    expect(await counts()).toEqual([]);
  });

  it('counts budgets, and names those that need the operator', async () => {
    const { kysely } = engine.database;
    const keep = async (contractId: string, more: Partial<Row<'budget'>>, install = 'acme') => {
      await insert(kysely, 'budget', { ...noBudget, install, contractId, ...more });
    };
    const isWatched = true;
    await keep('c1', { isWatched, state: 'depleted' });
    await keep('c2', { isWatched, state: 'low' });
    await keep('c3', { isWatched, state: 'low' });
    await keep('c4', { isWatched, state: 'ok' });
    await keep('c5', { isWatched, notFoundAt: hour });
    await keep('over', { state: 'depleted', notFoundAt: hour });
    await keep('strange', { isWatched, state: 'low', notFoundAt: hour }, 'globex');
    const fail = async (key: string, attempts: number, install = 'acme', holdsOthers = false) => {
      const failed = { attempts, failure: 'answered 500', failingSince: hour, holdsOthers };
      await insert(kysely, 'job', { kind: 'budget', key, install, dueAt: hour, ...failed });
    };
    await fail('acme/c2', 3);
    await fail('acme/c3', 3);
    await fail('acme/c4', 2);
    await fail('globex/strange', 3, 'globex');
    const { budgets } = await load();
    expect(budgets).toEqual([
      { install: 'acme', state: 'depleted', count: 1 },
      { install: 'acme', state: 'low', count: 2 },
      { install: 'acme', state: 'ok', count: 1 },
    ]);
    expect(await troubles()).toMatchObject([
      { kind: 'budget_depleted', install: 'acme', count: 1 },
      { kind: 'budget_low', install: 'acme', count: 2 },
      { kind: 'reading_fails', says: 'The budgets of 1 contract of acme cannot be read.' },
      { kind: 'reading_fails', says: 'The budgets of 2 contracts of acme cannot be read.', detail: 'answered 500' },
    ]);
    await fail('acme/c1', 3, 'acme', true);
    expect((await troubles()).at(-1)).toMatchObject({ says: 'The budgets of acme cannot be read.' });
  });

  it('names background jobs that keep failing, and the feed after its first failure', async () => {
    const fail = async (kind: string, install: string, attempts: number) => {
      const failed = { attempts, failure: 'disk is full', failingSince: hour };
      await insert(engine.database.kysely, 'job', { kind, key: install, install, dueAt: hour, ...failed });
    };
    await fail('retention', '', 3);
    await fail('vacuum', '', 2);
    await fail('token expiry', 'acme', 3);
    await fail('token expiry', 'removed', 3);
    await fail('subscription', 'acme', 3);
    await fail('feed', 'acme', 1);
    expect((await troubles()).map(({ says, detail }) => [says, detail])).toEqual([
      ['The background job “retention” keeps failing.', 'disk is full'],
      ['The feed of acme cannot be read.', 'disk is full'],
      ['The tokens of acme cannot be read.', 'disk is full'],
    ]);
  });

  it('names work that is not paid: how many days, how many hours, and the oldest, whatever its age', async () => {
    const { kysely } = engine.database;
    const day = (index: number) => `2025-03-${String(index + 2).padStart(2, '0')}`;
    const held = {
      source: 'tool:studio',
      workedOn: '{}',
      seconds: 9150,
      reason: 'no_contract' as const,
      contracts: '[]',
    };
    const keepHeld = (id: string, one: Partial<Row<'usageHeld'>>) =>
      insert(kysely, 'usageHeld', {
        id,
        work: id,
        ...held,
        install: 'acme',
        trainerId: 'usr1',
        day: day(0),
        state: 'held',
        since: hour,
        ...one,
      });
    for (const index of Array.from({ length: 12 }, (_, at) => at)) await keepHeld(`${index}`, { day: day(index) });
    await keepHeld('none', { install: '', seconds: null });
    await keepHeld('decided', { state: 'discarded', day: '2024-01-01' });
    await keepHeld('gone', { install: 'globex' });
    const key = { install: 'acme', contractId: 'c1', trainerId: 'usr1' };
    const keepLedger = (index: number, one: Partial<Row<'usageLedger'>>) =>
      insert(kysely, 'usageLedger', {
        ...key,
        day: day(index),
        state: 'answered',
        sentAt: hour,
        reportId: `gw-${index}`,
        seconds: 3600,
        ...one,
      });
    await keepLedger(1, { loweringHeldAt: hour });
    await keepLedger(2, { state: 'refused', seconds: null, triedSeconds: 7200 });
    await keepLedger(3, { closedAt: hour });
    await inTransaction(engine.database, (tx) => writeSetting(tx, 'usage_closed_before', '2025-04-01'));
    await insert(
      kysely,
      'usageDue',
      [7200, 4500].map((seconds, index) => {
        return { ...key, day: day(2 + index), seconds, timeZone: 'UTC', isPartial: false, isOpen: true };
      }),
    );
    expect(await troubles()).toMatchObject([
      { kind: 'usage_held', install: null, count: 1, detail: 'the oldest of 2025-03-02' },
      { kind: 'usage_held', install: 'acme', count: 12, detail: '30.5 hours, the oldest of 2025-03-02' },
      { kind: 'usage_lowering', install: 'acme', count: 1, detail: '1 hour, the oldest of 2025-03-03' },
      { kind: 'usage_late', install: 'acme', count: 1, detail: '0.3 hours, the oldest of 2025-03-05' },
      { kind: 'usage_refused', install: 'acme', count: 1, page: '/work?install=acme&from=2025-03-04' },
    ]);
  });

  it('counts failed deliveries of any age', async () => {
    await engine.deliver([fullEvent({ type: 'contract.started' })]);
    await engine.deliver(['no event']);
    await postponeDelivery(engine, 1, 'given up', null);
    expect((await load('2026-03-16T00:00:00.000Z')).deliveries).toEqual([]);
    expect(await counts()).toEqual(['delivery_failed 1', 'delivery_unprocessable 1']);
  });

  it('names installs that could not be read, and what waits for the reading', async () => {
    const now = '2026-03-15T12:00:00.000Z';
    await holdInstalls(engine, ['acme', 'globex'], now);
    const detail = `Events older than ${now} wait for this reading`;
    expect(await troubles()).toMatchObject([{ kind: 'install_new', install: 'acme', since: now, detail }]);
    const claim = await claimJob(engine, 'reconcile', 'acme', { now, leasedUntil: now });
    if (claim === null) throw new Error('there is nothing to read');
    const refused = { failure: 'answered 401', failureCode: 'unauthenticated', holdsOthers: false } as const;
    await postponeJob(engine, claim, { ...refused, dueAt: now, failedAt: now });
    expect((await load()).installs).toMatchObject([{ install: 'acme', failure: 'answered 401' }]);
    const unread = {
      kind: 'marketplace_refuses',
      severity: 'down',
      install: 'acme',
      detail: `answered 401. ${detail}`,
    };
    expect(await troubles()).toMatchObject([unread]);
    await noteInstallRead(engine, { install: 'acme', beganAt: now }, true);
    await inTransaction(engine.database, (tx) => dropJob(tx, 'reconcile', 'acme'));
    expect(await counts()).toEqual([]);
  });

  it('counts recent rows in spite of gaps and disorder', async () => {
    const at = (minute: number) => new Date(Date.parse(hour) + minute * 60_000).toISOString();
    const bodies = Array.from({ length: 300 }, (_, index) => newDelivery(`${index}`));
    await appendDeliveries(engine, bodies);
    const { kysely } = engine.database;
    const stored = await kysely.selectFrom('delivery').select('id').orderBy('id').execute();
    const kept = stored.filter((_, index) => index % 3 === 0).map(({ id }) => id);
    await kysely.deleteFrom('delivery').where('id', 'not in', kept).execute();
    for (const [index, id] of kept.entries()) {
      // One overtook the one after it.
      const receivedAt = at(index === 70 ? 71.5 : index);
      await kysely.updateTable('delivery').set({ receivedAt }).where('id', '=', id).execute();
    }
    const count = async (since: string) => {
      const rows = await countDeliveries(engine.database.kysely, since);
      return rows.reduce((sum, row) => sum + row.count, 0);
    };
    expect(await count(at(-5))).toBe(100);
    expect(await count(at(49))).toBe(51);
    expect(await count(at(71.2))).toBe(29);
    expect(await count(at(99))).toBe(1);
    expect(await count(at(100))).toBe(0);
  });

  it('lists contracts beyond one page, and only those that match', async () => {
    const numbers = Array.from({ length: 1100 }, (_, index) => String(index).padStart(4, '0'));
    const contracts = numbers.map((number) => ({
      ...emptyContract(number < '0700' ? 'acme' : 'globex', `cmc${number}`),
      startedEventAt: hour,
      endedEventAt: number === '1098' ? hour : null,
    }));
    await engine.merge({ ...emptyEvidence(), contracts });
    const list = (filter: Parameters<typeof listContracts>[1]) => listContracts(engine, filter);
    const listed = await list({ limit: 5000 });
    expect(listed.map(({ contractId }) => contractId)).toEqual(contracts.map(({ contractId }) => contractId));
    expect(await list({ limit: 600 })).toHaveLength(600);
    expect(await list({ limit: 5000, install: 'globex' })).toHaveLength(400);
    expect(await list({ limit: 1, status: 'ended' })).toMatchObject([
      {
        budgetState: null,
        consumedFraction: null,
        remainingFraction: null,
        install: 'globex',
        contractId: 'cmc1098',
        status: 'ended',
        title: null,
        startDate: null,
        endDate: null,
        canReopen: true,
        heardAt: hour,
        trainers: [],
        suspectSince: null,
      },
    ]);
  });
});
