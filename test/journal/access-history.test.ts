import { beforeEach, expect, it } from 'vitest';
import { type AccessHistory, addRow, historyOf, nothingKnown } from '../../src/journal/access-history.ts';
import { createJournalStore } from '../../src/journal/journal-store.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { decidePlan } from '../../src/operator/decide-plan.ts';
import { convergeDue } from '../support/converging.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';

const everything = { from: '2000-01-01T00:00:00.000Z', to: '2100-01-01T00:00:00.000Z' };

describeEachDatabase('the history of access', (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createMemoryTool();
  });

  async function tell(period = everything): Promise<AccessHistory> {
    const journal = createJournalStore(engine.database);
    await journal.sealAll();
    const known = nothingKnown();
    for (const row of await journal.list(0, 1000)) addRow(known, row);
    return historyOf(known, period);
  }

  async function hire(number = 1): Promise<void> {
    await engine.apply([
      fullEvent({ type: 'contract.started', contract: `cmc${number}`, trainer: `cmu${number}`, link: `cml${number}` }),
    ]);
    await convergeDue(engine, tool);
  }

  async function run(isWhole: boolean): Promise<void> {
    const now = toInstant(engine.clock.now());
    const id = await engine.runs.begin('acme', 'schedule', now);
    if (isWhole) await engine.runs.read(id, 1, now);
    else await engine.runs.fail(id, 'it did not answer', now);
  }

  it('has a trainer in from the read-back on, by which contract, and not certified before a reading', async () => {
    await hire();
    const { stretches, installs } = await tell();
    expect(stretches).toEqual([
      {
        membership: 1,
        tool: 'studio',
        group: 'street-signs',
        trainer: 'cmu1',
        from: expect.any(String),
        until: null,
        contracts: [{ install: 'acme', contract: 'cmc1' }],
        isOurs: true,
        cause: null,
        lockOutMs: null,
        acts: [],
        isCertified: false,
      },
    ]);
    expect(installs).toEqual([{ install: 'acme', isCertified: false, unread: [{ ...span, why: 'never_read' }] }]);
  });

  const span = { from: everything.from, until: everything.to };

  it('has them out from the look that shows it, with why and how long it took', async () => {
    await hire();
    await engine.apply([fullEvent({ type: 'contract.ended' })]);
    engine.clock.advance(4000);
    await convergeDue(engine, tool);
    const { stretches } = await tell();
    expect(stretches).toMatchObject([{ until: expect.any(String), cause: 'contract_ended', lockOutMs: 4000 }]);
  });

  it('has one stretch for each time that they were in', async () => {
    await hire();
    await engine.apply([fullEvent({ type: 'contract.ended' })]);
    await convergeDue(engine, tool);
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc9' })]);
    await convergeDue(engine, tool);
    const { stretches } = await tell();
    expect(stretches.map(({ until, cause }) => [until === null, cause])).toEqual([
      [false, 'contract_ended'],
      [true, null],
    ]);
    expect(stretches.map(({ contracts }) => contracts.map(({ contract }) => contract))).toEqual([
      ['cmc1'],
      ['cmc1', 'cmc9'],
    ]);
  });

  it('leaves out who was in before the period, or came after it', async () => {
    await hire();
    await engine.apply([fullEvent({ type: 'contract.ended' })]);
    await convergeDue(engine, tool);
    const past = { from: everything.from, to: '2001-01-01T00:00:00.000Z' };
    expect((await tell(past)).stretches).toEqual([]);
    expect((await tell({ from: '2099-01-01T00:00:00.000Z', to: everything.to })).stretches).toEqual([]);
  });

  it('names the act of the operator who let a plan go', async () => {
    for (const number of [1, 2, 3]) await hire(number);
    for (const number of [1, 2, 3]) {
      await engine.apply([fullEvent({ type: 'project_link.removed', link: `cml${number}` })]);
    }
    await engine.pass(3_600_000);
    await engine.pass(3_600_000);
    const [plan] = await engine.plans.list({ state: 'open' });
    const by = { actor: 'olga', at: toInstant(engine.clock.now()) };
    await decidePlan({ ...engine, by }, 'approve', plan?.id ?? 0, {});
    await convergeDue(engine, tool);
    const { stretches, acts } = await tell();
    expect(acts).toMatchObject([{ actor: 'olga', action: 'plans approve', subject: `plan ${plan?.id}` }]);
    const approved = stretches.filter((one) => one.acts.includes(acts[0]?.row ?? 0));
    expect(approved.length).toBeGreaterThan(0);
    for (const { until, cause } of approved) expect([until !== null, cause]).toEqual([true, 'link_removed']);
  });

  it('certifies what was read as a whole, until a reading fails', async () => {
    await run(true);
    await hire();
    const from = toInstant(engine.clock.now());
    engine.clock.advance(60_000);
    const to = toInstant(engine.clock.now());
    const installsThen = async () => (await tell({ from, to })).installs;
    expect(await installsThen()).toEqual([{ install: 'acme', isCertified: true, unread: [] }]);
    await run(false);
    engine.clock.advance(60_000);
    const later = toInstant(engine.clock.now());
    expect((await tell({ from, to: later })).installs).toEqual([
      { install: 'acme', isCertified: false, unread: [{ from: to, until: later, why: 'reading_failed' }] },
    ]);
  });
});
