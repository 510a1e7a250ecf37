import { beforeEach, expect, it } from 'vitest';
import type { Row } from '../../src/db/schema.ts';
import { emptyContract, emptyEvidence } from '../../src/domain/evidence.ts';
import { countDeliveries } from '../../src/inbox/delivery-count-store.ts';
import { appendDeliveries, postponeDelivery } from '../../src/inbox/inbox-store.ts';
import {
  forgetSubscriptionTroubles,
  noteSubscriptionCheck,
} from '../../src/installs/subscription/subscription-store.ts';
import type { Attention } from '../../src/operator/attention.ts';
import { type ContractListFilter, listContracts } from '../../src/operator/list-contracts.ts';
import { loadStatus, type Status } from '../../src/operator/load-status.ts';
import { holdInstalls } from '../../src/reconcile/read/hold-store.ts';
import {
  claimInstallRead,
  postponeInstallRead,
  settleInstallRead,
} from '../../src/reconcile/read/install-state-store.ts';
import { noBudget } from '../support/budgets.ts';
import { convergeDue } from '../support/converging.ts';
import { newDelivery } from '../support/deliveries.ts';
import { createEngine, type Engine, limitRemovals } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const installs = new Map([['acme', { tool: 'studio' }]]);
const hour = '2026-03-15T11:00:00.000Z';

describeAnyDatabase('how it is doing', (openFresh) => {
  let engine: Engine;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
  });

  const load = (since = hour): Promise<Status> => loadStatus(engine, since, installs);
  const attention = async () => (await load()).attention.map(({ says }: Attention) => says);

  it('needs no operator where nothing has happened', async () => {
    expect(await load()).toEqual({
      since: hour,
      memberships: [],
      deliveries: [],
      receipts: [],
      removals: [],
      installs: [],
      plans: [],
      budgets: [],
      lowered: [],
      attention: [],
    });
  });

  it('counts what is, and what has happened', async () => {
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
      attention: [],
    });
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
    expect((await load()).attention).toEqual([
      {
        says: 'plan 1 holds removals of acme: 1',
        action: 'gangway plans show 1, then approve or reject it',
        page: '/plans/1',
      },
      {
        says: 'people without a work address: 1',
        action: expect.stringMatching(/^gangway members --waiting/),
        page: '/access?state=waiting_email',
      },
      {
        says: 'disputed contracts: 1',
        action: expect.stringMatching(/^gangway contracts list --status disputed; then gangway contracts reopen <id>/),
        page: '/contracts?status=disputed',
      },
    ]);
  });

  it("an operator's end that the marketplace contradicted for an hour is shown as disputed until it is reopened", async () => {
    const endedByOperatorAt = '2026-03-15T10:00:00.000Z';
    const read = async (activeReadAt: string) =>
      await engine.merge({ ...emptyEvidence(), contracts: [{ ...emptyContract('acme', 'cmc1'), activeReadAt }] });
    const ended = { ...emptyContract('acme', 'cmc1'), startedEventAt: hour, endedByOperatorAt };
    await engine.merge({ ...emptyEvidence(), contracts: [ended] });
    const shown = async () => (await listContracts(engine, { limit: 10 })).map(({ status }) => status);
    await read('2026-03-15T10:59:59.000Z');
    expect([await attention(), await shown()]).toEqual([[], ['ended']]);
    await read('2026-03-15T11:00:00.000Z');
    expect([await attention(), await shown()]).toEqual([['disputed contracts: 1'], ['disputed']]);
    const reopened = { ...emptyContract('acme', 'cmc1'), reopenedAt: '2026-03-15T12:00:00.000Z' };
    await engine.merge({ ...emptyEvidence(), contracts: [reopened] });
    expect([await attention(), await shown()]).toEqual([[], ['active']]);
  });

  it('says what is orphaned or refused', async () => {
    await engine.apply([fullEvent({ type: 'contract.started' })]);
    const setState = (state: 'failed' | 'orphaned') =>
      engine.database.kysely.updateTable('membership').set({ state }).execute();
    await setState('orphaned');
    expect(await attention()).toEqual(['orphaned memberships: 1']);
    await setState('failed');
    expect(await attention()).toEqual(['memberships that their tool refuses: 1']);
  });

  it('says what keeps the deliveries of a configured install from coming', async () => {
    const trouble = { says: 'nothing is delivered', action: 'gangway endpoint rotate acme' };
    await noteSubscriptionCheck(engine, 'acme', hour, trouble);
    await noteSubscriptionCheck(engine, 'globex', hour, trouble);
    expect((await load()).attention).toEqual([{ ...trouble, page: '/installs/acme' }]);
    await forgetSubscriptionTroubles(engine);
    expect(await attention()).toEqual([]);
  });

  it('counts the budgets that are read, and says which need the operator', async () => {
    const { kysely } = engine.database;
    const keep = async (contractId: string, more: Partial<Row<'budget'>>, install = 'acme') => {
      await kysely
        .insertInto('budget')
        .values({ ...noBudget, install, contractId, ...more })
        .execute();
    };
    const nextReadAt = hour;
    await keep('c1', { nextReadAt, state: 'depleted' });
    await keep('c2', { nextReadAt, state: 'low' });
    await keep('c3', { nextReadAt, state: 'low', failure: 'no answer', attempts: 3 });
    await keep('c4', { nextReadAt, state: 'ok', failure: 'no answer', attempts: 2 });
    await keep('c5', { nextReadAt, failure: 'no such contract', notFoundAt: hour });
    await keep('over', { state: 'depleted', failure: 'no answer', attempts: 9 });
    await keep('strange', { nextReadAt, state: 'low', attempts: 9 }, 'globex');
    const failure = 'answered 403';
    const readers = ['acme', 'globex'].map((install) => ({ install, failure, attempts: 3 }));
    await kysely.insertInto('budgetReader').values(readers).execute();
    const { budgets } = await load();
    expect(budgets).toEqual([
      { install: 'acme', state: 'depleted', count: 1 },
      { install: 'acme', state: 'low', count: 2 },
      { install: 'acme', state: 'ok', count: 1 },
    ]);
    expect(await attention()).toEqual([
      'budgets that are used up: 1',
      'budgets that are running out: 2',
      'budgets that cannot be read: 2',
      'the budgets of acme cannot be read: answered 403',
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
      kysely
        .insertInto('usageHeld')
        .values({
          id,
          work: id,
          ...held,
          install: 'acme',
          trainerId: 'usr1',
          day: day(0),
          state: 'held',
          since: hour,
          ...one,
        })
        .execute();
    for (const index of Array.from({ length: 12 }, (_, at) => at)) await keepHeld(`${index}`, { day: day(index) });
    await keepHeld('none', { install: '', seconds: null });
    await keepHeld('decided', { state: 'discarded', day: '2024-01-01' });
    await keepHeld('gone', { install: 'globex' });
    const key = { install: 'acme', contractId: 'c1', trainerId: 'usr1' };
    const keepLedger = (index: number, one: Partial<Row<'usageLedger'>>) =>
      kysely
        .insertInto('usageLedger')
        .values({
          ...key,
          day: day(index),
          state: 'answered',
          sentAt: hour,
          reportId: `gw-${index}`,
          seconds: 3600,
          ...one,
        })
        .execute();
    await keepLedger(1, { loweringHeldAt: hour });
    await keepLedger(2, { state: 'refused', seconds: null, triedSeconds: 7200 });
    await keepLedger(3, { closedAt: hour });
    await kysely
      .insertInto('usageDue')
      .values(
        [7200, 4500].map((seconds, index) => {
          return { ...key, day: day(2 + index), seconds, timeZone: 'UTC', isPartial: false, isOpen: true };
        }),
      )
      .execute();
    expect((await load()).attention).toEqual([
      {
        says: 'held work of no single install: 1 day, the oldest of 2025-03-02',
        action: expect.stringMatching(/^gangway usage held/),
        page: '/work/held',
      },
      {
        says: 'held work of acme: 12 days, 30.5 hours, the oldest of 2025-03-02',
        action: expect.stringMatching(/^gangway usage held/),
        page: '/work/held',
      },
      {
        says: 'work of acme that would be reported lower, held: 1 day, 1 hour, the oldest of 2025-03-03',
        action: expect.stringContaining('gangway usage report --accept-lowered'),
        page: '/work/held',
      },
      {
        says: 'work of acme that the marketplace refuses: 1 day, 2 hours, the oldest of 2025-03-04',
        action: expect.stringMatching(/^gangway usage check/),
        page: '/work?install=acme&from=2025-03-04',
      },
      {
        says: 'work of acme that changed after its day was sent for the last time: 1 day, 0.3 hours, the oldest of 2025-03-05',
        action: expect.stringMatching(/^gangway usage held/),
        page: '/work/held',
      },
    ]);
  });

  it('says what became of deliveries, however old they are', async () => {
    await engine.deliver([fullEvent({ type: 'contract.started' })]);
    await engine.deliver(['no event']);
    await postponeDelivery(engine, 1, 'given up', null);
    const { deliveries, attention: said } = await load('2026-03-16T00:00:00.000Z');
    expect(deliveries).toEqual([]);
    expect(said).toEqual([
      {
        says: 'deliveries that were given up: 1',
        action: expect.stringMatching(/^gangway deliveries list --state failed, .+ replay --failed$/),
        page: '/deliveries?state=failed',
      },
      {
        says: 'deliveries that could not be read: 1',
        action: expect.stringMatching(/^gangway deliveries list --state unprocessable/),
        page: '/deliveries?state=unprocessable',
      },
    ]);
  });

  it('says which configured install could not be read, and what waits for that', async () => {
    const now = '2026-03-15T12:00:00.000Z';
    await holdInstalls(engine, ['acme', 'globex'], now);
    expect((await load()).attention).toEqual([
      {
        says: `acme is still to be read from the marketplace, and nothing older than ${now} is acted on before`,
        action: expect.stringMatching(/^wait for it/),
        page: '/installs/acme',
      },
    ]);
    const claim = await claimInstallRead(engine, now, now, { only: 'acme' });
    if (claim === null) throw new Error('there is nothing to read');
    await postponeInstallRead(engine, claim, 'answered 401', now);
    expect(await load()).toMatchObject({
      installs: [{ install: 'acme', failure: 'answered 401' }],
      attention: [
        {
          says: expect.stringMatching(/^acme could not be read .+: answered 401$/),
          action: expect.stringMatching(/installs\.acme\.token/),
        },
      ],
    });
    await settleInstallRead(engine, claim, now);
    expect(await attention()).toEqual([]);
  });

  it('finds what is recent among gaps and disorder', async () => {
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

  it('lists contracts beyond one page, and those alone that are asked for', async () => {
    const numbers = Array.from({ length: 1100 }, (_, index) => String(index).padStart(4, '0'));
    const contracts = numbers.map((number) => ({
      ...emptyContract(number < '0700' ? 'acme' : 'globex', `cmc${number}`),
      startedEventAt: hour,
      endedEventAt: number === '1098' ? hour : null,
    }));
    await engine.merge({ ...emptyEvidence(), contracts });
    const list = (filter: ContractListFilter) => listContracts(engine, filter);
    const listed = await list({ limit: 5000 });
    expect(listed.map(({ contractId }) => contractId)).toEqual(contracts.map(({ contractId }) => contractId));
    expect(await list({ limit: 600 })).toHaveLength(600);
    expect(await list({ limit: 5000, install: 'globex' })).toHaveLength(400);
    expect(await list({ limit: 1, status: 'ended' })).toEqual([
      {
        budgetState: null,
        consumedFraction: null,
        remainingFraction: null,
        install: 'globex',
        contractId: 'cmc1098',
        status: 'ended',
        title: null,
        heardAt: hour,
        people: 0,
        suspectSince: null,
      },
    ]);
  });
});
