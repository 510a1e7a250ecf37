import { beforeEach, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { RouteLink } from '../../../src/domain/install.ts';
import { convergeDue } from '../../support/converging.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const started = fullEvent({ type: 'contract.started', id: '1' });
const ended = fullEvent({ type: 'contract.ended', id: '2' });
const startedWithoutEmail = fullEvent({ type: 'contract.started', id: '1', workEmail: null });

function refuse(): never {
  throw new AppError('invalid', 'answered 400', { status: 400 });
}

describeAnyDatabase('when something else is wanted', (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;
  let routes: (project: string | null) => string | undefined;

  const routeLink: RouteLink = ({ externalProjectId }) => {
    const groupId = routes(externalProjectId);
    return groupId === undefined ? undefined : { tool: 'studio', groupId };
  };

  beforeEach(async () => {
    routes = (project) => project ?? undefined;
    engine = createEngine(await openFresh(), { routeLink });
    tool = createMemoryTool();
  });

  const membership = async () => (await engine.membershipRows())[0];

  it('of a membership whose addition was refused: it is retried at once', async () => {
    await engine.apply([started]);
    tool.before = (call) => (call === 'add' ? refuse() : undefined);
    await convergeDue(engine, tool);
    expect(await membership()).toMatchObject({ state: 'failed' });

    // An intent was written, so the tool may have done it all the same.
    await engine.apply([ended]);
    expect(await membership()).toMatchObject({ state: 'removing', wanted: false, generation: 2 });
    expect(await convergeDue(engine, tool)).toEqual(['remove already_absent']);
  });

  it('of a membership whose removal was refused: the person simply stays', async () => {
    await engine.apply([started]);
    await convergeDue(engine, tool);
    await engine.apply([ended]);
    tool.before = (call) => (call === 'remove' ? refuse() : undefined);
    await convergeDue(engine, tool);
    expect(await membership()).toMatchObject({ state: 'failed', wanted: false });

    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc2' })]);
    expect(await membership()).toMatchObject({ state: 'pending', wanted: true, failure: null });
    expect(await convergeDue(engine, tool)).toEqual(['add already_member']);
    expect(await membership()).toMatchObject({ state: 'active', isOurs: true });
  });

  it('of a membership whose look failed: nothing is left to do', async () => {
    await engine.apply([started]);
    tool.before = refuse;
    await convergeDue(engine, tool);
    await engine.apply([ended]);
    expect(await membership()).toMatchObject({ state: 'removed', nextAttemptAt: null });
  });

  it('retries a refused membership at once when the address is corrected', async () => {
    await engine.apply([started]);
    tool.before = (call) => (call === 'add' ? refuse() : undefined);
    await convergeDue(engine, tool);
    expect(await convergeDue(engine, tool)).toEqual([]);

    tool.before = () => undefined;
    const corrected = { id: '3', workEmail: 'amara.ok@opentrain.work' };
    await engine.apply([fullEvent({ type: 'contract.started', ...corrected })]);
    expect(await membership()).toMatchObject({ state: 'pending', generation: 1, attempts: 0 });
    expect(await convergeDue(engine, tool)).toEqual(['add added']);
  });

  it('does not retry a refused membership without new evidence', async () => {
    await engine.apply([started]);
    tool.before = (call) => (call === 'add' ? refuse() : undefined);
    await convergeDue(engine, tool);
    const before = await membership();
    await engine.apply([started, `${started} `]);
    expect(await membership()).toEqual(before);
  });

  it('forgets a membership that waits for an address when the contract ends', async () => {
    await engine.apply([startedWithoutEmail]);
    expect(await membership()).toMatchObject({ state: 'waiting_email', nextAttemptAt: null });
    expect(await convergeDue(engine, tool)).toEqual([]);
    await engine.apply([ended]);
    expect(await membership()).toMatchObject({ state: 'removed', nextAttemptAt: null, wanted: false });
    expect(await convergeDue(engine, tool)).toEqual([]);
    expect(tool.calls).toEqual([]);
  });

  it('goes ahead when the address it waits for arrives', async () => {
    await engine.apply([startedWithoutEmail]);
    await engine.apply([fullEvent({ type: 'contract.started', id: '3' })]);
    expect(await membership()).toMatchObject({ state: 'pending', generation: 1 });
    expect(await convergeDue(engine, tool)).toEqual(['add added']);
  });

  it('never removes a trainer because the configuration no longer covers them', async () => {
    await engine.apply([started]);
    await convergeDue(engine, tool);
    routes = () => undefined;
    await engine.apply([ended, fullEvent({ type: 'contract.started', contract: 'cmc2' })]);
    expect(await engine.membershipRows()).toMatchObject([
      { wanted: true, state: 'orphaned', cause: null, removeAfter: null, nextAttemptAt: null },
    ]);
    await engine.pass(48 * 3_600_000);
    expect(await convergeDue(engine, tool)).toEqual([]);
    expect(tool.members('street-signs')).toEqual(['cmu1']);

    routes = (project) => `elsewhere/${project}`;
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc3' })]);
    expect(await engine.membershipRows()).toMatchObject([
      { groupId: 'street-signs', wanted: true, state: 'orphaned' },
      { groupId: 'elsewhere/street-signs', wanted: true, state: 'pending' },
    ]);

    // The configuration leads back, and they were there all along.
    routes = (project) => project ?? undefined;
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc4' })]);
    await convergeDue(engine, tool);
    expect((await engine.membershipRows())[0]).toMatchObject({ state: 'active', isOurs: true });
  });

  it('removes no trainer whose last routed reason ends, while another reason stands', async () => {
    routes = () => 'team';
    const lamps = { contract: 'cmc2', project: 'lamps', link: 'cml2' };
    await engine.apply([started, fullEvent({ type: 'contract.started', ...lamps })]);
    await convergeDue(engine, tool);
    expect(tool.members('team')).toEqual(['cmu1']);

    routes = (project) => (project === 'lamps' ? undefined : 'team');
    await engine.apply([ended]);
    expect(await convergeDue(engine, tool)).toEqual([]);
    expect(await engine.membershipRows()).toMatchObject([{ state: 'orphaned', wanted: true }]);

    routes = () => 'team';
    await engine.apply([fullEvent({ type: 'contract.ended', ...lamps })]);
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
  });

  it('drops trainers whom the configuration stops covering before they were added', async () => {
    await engine.apply([started]);
    routes = () => undefined;
    await engine.apply([ended]);
    expect(await engine.membershipRows()).toMatchObject([{ wanted: false, state: 'removed' }]);
  });
});
