import { expect, it } from 'vitest';
import { convergeDue } from '../../support/converging.ts';
import { createEngine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const workEmail = 'shared@opentrain.work';

describeAnyDatabase('an account that several trainers have by its address', (openFresh) => {
  it('stays while one of them is wanted, and is removed with the last', async () => {
    const engine = createEngine(await openFresh());
    const tool = createToolByAddress();
    for (const name of ['one', 'two']) {
      await engine.apply([fullEvent({ type: 'contract.started', ...about(name) })]);
    }
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'x', trainer: 'other' })]);
    await convergeDue(engine, tool);
    expect(tool.members('street-signs')).toEqual(['other@opentrain.work', workEmail]);

    const outcomes: string[] = [];
    for (const name of ['one', 'two']) {
      const createdAt = engine.clock.now().toISOString();
      await engine.apply([fullEvent({ type: 'contract.ended', createdAt, ...about(name) })]);
      outcomes.push(...(await convergeDue(engine, tool)));
    }
    expect(outcomes).toEqual(['remove kept_for_another', 'remove removed']);
    expect(tool.members('street-signs')).toEqual(['other@opentrain.work']);
  });

  it('is made again for a trainer whom the tool did not know yet', async () => {
    const engine = createEngine(await openFresh());
    const tool = createToolByAddress();
    await engine.apply([fullEvent({ type: 'contract.started', ...about('one') })]);
    await convergeDue(engine, tool);
    const createdAt = engine.clock.now().toISOString();
    await engine.apply([fullEvent({ type: 'contract.ended', createdAt, ...about('one') })]);
    await engine.brake();
    engine.clock.advance(1000);
    await engine.apply([fullEvent({ type: 'contract.started', ...about('two') })]);
    // Whether two people with one address are one account, only the tool's own id can tell.
    expect(await convergeDue(engine, tool)).toEqual(['remove removed', 'add added']);
    expect(tool.members('street-signs')).toEqual([workEmail]);
  });
});

describeAnyDatabase('an account that one trainer has under the addresses of two customers', (openFresh) => {
  it('stays while the other customer wants it', async () => {
    const engine = createEngine(await openFresh());
    const tool = createMemoryTool();
    const ofAcme = { contract: 'a', trainer: 'one', workEmail: 'one.1@opentrain.work' };
    const ofGlobex = { contract: 'g', trainer: 'one', workEmail: 'one.2@opentrain.work' };
    await engine.apply([fullEvent({ type: 'contract.started', ...ofAcme })], 'acme');
    await convergeDue(engine, tool);
    await engine.apply([fullEvent({ type: 'contract.started', ...ofGlobex })], 'globex');
    await convergeDue(engine, tool);

    const createdAt = engine.clock.now().toISOString();
    await engine.apply([fullEvent({ type: 'contract.ended', createdAt, ...ofAcme })], 'acme');
    expect(await convergeDue(engine, tool)).toEqual(['remove kept_for_another']);
    expect(tool.members('street-signs')).toEqual(['one']);
    await engine.apply([fullEvent({ type: 'contract.ended', createdAt, ...ofGlobex })], 'globex');
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
  });
});

function about(name: string) {
  return { contract: name, trainer: name, workEmail };
}

/** A tool that knows people by their address alone. */
function createToolByAddress(): MemoryTool {
  const tool = createMemoryTool();
  const { adapter } = tool;
  tool.adapter = {
    ...adapter,
    findMember: (group, person, signal) => adapter.findMember(group, { ...person, trainerId: person.email }, signal),
    addMember: (group, person, signal) => adapter.addMember(group, { ...person, trainerId: person.email }, signal),
  };
  return tool;
}
