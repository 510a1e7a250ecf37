import { beforeEach, expect, it } from 'vitest';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import { type AccessPeriod, listAccessHistory } from '../../src/memberships/access-history-store.ts';
import { convergeDue } from '../support/converging.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';

const minuteMs = 60_000;

describeEachDatabase('who could get in', (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;
  let begin: string;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createMemoryTool();
    begin = toInstant(engine.clock.now());
  });

  async function tell(type: 'contract.started' | 'contract.ended', id: string, contract = 'cmc1', trainer = 'cmu1') {
    engine.clock.advance(minuteMs);
    await engine.apply([fullEvent({ type, id, contract, trainer, createdAt: toInstant(engine.clock.now()) })]);
    await engine.pass(1000);
    await convergeDue(engine, tool);
  }

  async function list(period: Partial<AccessPeriod> = {}, page: object = {}) {
    const to = instantIn(engine.clock, minuteMs);
    return await listAccessHistory(engine.database.kysely, { from: begin, to, ...period }, { limit: 100, ...page });
  }

  it('has the contract, the reason for the end and the time that lock-out took', async () => {
    await tell('contract.started', '1');
    expect(await list()).toMatchObject([{ trainerId: 'cmu1', groupId: 'street-signs', until: null, isAdded: true }]);
    await tell('contract.ended', '2');
    expect(await list()).toEqual([
      expect.objectContaining({
        from: instantIn(engine.clock, -(minuteMs + 1000)),
        until: toInstant(engine.clock.now()),
        contracts: [{ install: 'acme', contractId: 'cmc1' }],
        cause: 'contract_ended',
        lockOutMs: 1000,
        doubts: [],
      }),
    ]);
  });

  it('names a renewal too, and a later contract only for its own time', async () => {
    await tell('contract.started', '1');
    await tell('contract.started', '2', 'cmc2');
    await tell('contract.ended', '3');
    await tell('contract.ended', '4', 'cmc2');
    await tell('contract.started', '5', 'cmc3');
    const found = await list();
    expect(found.map(({ contracts }) => contracts.map(({ contractId }) => contractId))).toEqual([
      ['cmc1', 'cmc2'],
      ['cmc3'],
    ]);
  });

  it('lists what overlaps the period, by install and page by page', async () => {
    await tell('contract.started', '1');
    await tell('contract.ended', '2');
    const between = instantIn(engine.clock, 1000);
    await tell('contract.started', '3', 'cmc2');
    await tell('contract.started', '4', 'cmc9', 'cmu9');
    const keys = (found: Awaited<ReturnType<typeof list>>) => found.map((one) => `${one.trainerId} ${one.number}`);
    expect(keys(await list())).toEqual(['cmu1 1', 'cmu1 2', 'cmu9 1']);
    expect(keys(await list({ from: between }))).toEqual(['cmu1 2', 'cmu9 1']);
    expect(keys(await list({ to: between }))).toEqual(['cmu1 1']);
    expect(await list({ install: 'globex' })).toEqual([]);
    const [first] = await list({}, { limit: 1 });
    expect(keys(await list({}, { limit: 1, after: first }))).toEqual(['cmu1 2']);
    expect(keys(await list({}, { after: (await list())[1] }))).toEqual(['cmu9 1']);
  });
});
