import { beforeEach, expect, it } from 'vitest';
import { emptyContract, emptyEvidence } from '../../src/domain/evidence.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { decideContract, listContracts } from '../../src/operations/contracts.ts';
import { convergeDue } from '../support/converging.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const started = fullEvent({ type: 'contract.started', id: '1' });
const ended = fullEvent({ type: 'contract.ended', id: '2' });

describeAnyDatabase("an operator's decision about a contract", (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createMemoryTool();
  });

  async function decide(
    decision: 'end' | 'reopen',
    contractId = 'cmc1',
    install?: string,
    at = toInstant(engine.clock.now()),
  ) {
    return await decideContract(engine, { actor: 'ada', at }, decision, contractId, install);
  }

  const statuses = async () => (await listContracts(engine, { limit: 10 })).map(({ status }) => status);

  /** Takes in what was decided, and brings the tool in line. */
  async function act(): Promise<string[]> {
    await engine.takeIn();
    return await convergeDue(engine, tool);
  }

  it('that it has ended removes its people, and the brake does not count them', async () => {
    await engine.apply([started]);
    await convergeDue(engine, tool);
    expect(await decide('end')).toMatchObject({ install: 'acme', contractId: 'cmc1' });
    expect(await statuses()).toEqual(['ended']);
    expect(await engine.membershipRows()).toMatchObject([{ state: 'active', wanted: true }]);

    expect(await act()).toEqual(['remove removed']);
    expect(tool.members('street-signs')).toEqual([]);
    expect(await engine.rows('removal')).toMatchObject([
      { cause: 'contract_ended_by_operator', clearance: 'approved' },
    ]);
  });

  it('that it goes on adds its people again', async () => {
    await engine.apply([started, ended]);
    await convergeDue(engine, tool);
    engine.clock.advance(60_000);
    await decide('reopen');
    expect(await statuses()).toEqual(['active']);
    expect(await act()).toEqual(['add added']);

    engine.clock.advance(60_000);
    await decide('end');
    expect(await act()).toEqual(['remove removed']);
    expect(await statuses()).toEqual(['ended']);
  });

  it('that it goes on has the marketplace read at once; that it has ended does not', async () => {
    const wanted = async () => engine.rows('job');
    await engine.apply([started]);
    const before = await wanted();
    engine.clock.advance(60_000);
    await decide('end');
    expect(await wanted()).toEqual(before);
    engine.clock.advance(60_000);
    await decide('reopen');
    expect(await wanted()).toMatchObject([{ kind: 'reconcile', key: 'acme', dueAt: '2026-03-15T12:02:00.000Z' }]);
  });

  it('is in the audit log, with the operator and the time', async () => {
    await engine.apply([started]);
    await decide('end');
    engine.clock.advance(1000);
    await decide('reopen');
    const by = { actor: 'ada', subject: 'acme/cmc1' };
    expect(await engine.rows('audit')).toMatchObject([
      { ...by, action: 'contracts end', at: '2026-03-15T12:00:00.000Z' },
      { ...by, action: 'contracts reopen', at: '2026-03-15T12:00:01.000Z' },
    ]);
  });

  it('wins over an earlier one from a clock that was ahead', async () => {
    await engine.apply([started]);
    await decide('end', 'cmc1', undefined, '2026-03-15T12:30:00.000Z');
    await decide('reopen');
    expect(await statuses()).toEqual(['active']);
    await decide('end');
    expect(await statuses()).toEqual(['ended']);
    await decide('reopen');
    expect(await statuses()).toEqual(['active']);
  });

  it('settles a dispute either way', async () => {
    const early = fullEvent({ type: 'contract.ended', createdAt: '2026-03-15T11:00:00.000Z' });
    const activeReadAt = '2026-03-15T11:30:00.000Z';
    const listed = { ...emptyContract('acme', 'cmc1'), activeReadAt };
    await engine.apply([started, early]);
    await engine.merge({ ...emptyEvidence(), contracts: [listed] });
    expect(await statuses()).toEqual(['disputed']);
    await decide('reopen');
    expect(await statuses()).toEqual(['active']);
    await decide('end');
    expect(await statuses()).toEqual(['ended']);
  });

  it('is refused if it would change nothing, and leaves no trace', async () => {
    await engine.apply([started]);
    await expect(decide('reopen')).rejects.toMatchObject({
      code: 'conflict',
      message: 'Contract cmc1 has not ended',
    });
    await engine.apply([ended]);
    await expect(decide('end')).rejects.toMatchObject({
      code: 'conflict',
      message: 'Contract cmc1 has already ended',
    });
    await expect(decide('end', 'cmc9')).rejects.toMatchObject({
      code: 'not_found',
      message: 'There is no contract cmc9',
    });
    await expect(decide('end', 'cmc1', 'globex')).rejects.toThrow('There is no contract cmc1 of globex');
    expect(await engine.rows('audit')).toEqual([]);
  });

  it('cannot reopen a contract that the marketplace lists as ended', async () => {
    await engine.apply([started]);
    const endedReadAt = '2026-03-15T11:00:00.000Z';
    const listed = { ...emptyContract('acme', 'cmc1'), endedReadAt };
    await engine.merge({ ...emptyEvidence(), contracts: [listed] });
    await expect(decide('reopen')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^The marketplace lists contract cmc1 as ended/),
    });
  });

  it('concerns one install, which must be named if several have the id', async () => {
    await engine.apply([started], 'acme');
    await engine.apply([fullEvent({ type: 'contract.started', project: 'lamps' })], 'globex');
    await convergeDue(engine, tool);
    await expect(decide('end')).rejects.toMatchObject({
      code: 'conflict',
      message: 'Several installs have a contract cmc1 (acme, globex): name one with --install',
    });
    expect(await decide('end', 'cmc1', 'globex')).toMatchObject({ install: 'globex' });
    expect(await act()).toEqual(['remove removed']);
    expect(tool.members('street-signs')).toEqual(['cmu1']);
    expect(tool.members('lamps')).toEqual([]);
  });
});
