import { beforeEach, expect, it } from 'vitest';
import { toInstant } from '../../src/lib/clock.ts';
import { listMemberships } from '../../src/memberships/membership-list-store.ts';
import { adoptMember, releaseMember } from '../../src/memberships/ownership-store.ts';
import { convergeDue } from '../support/converging.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';
import { countTroublesIn } from '../support/troubles.ts';

const started = fullEvent({ type: 'contract.started', id: '1' });
const ended = fullEvent({ type: 'contract.ended', id: '2' });
const rehired = fullEvent({ type: 'contract.started', id: '3', contract: 'cmc2' });
const endedAgain = fullEvent({ type: 'contract.ended', id: '4', contract: 'cmc2' });

const wereIn = 'members_undecided 1';
const leftIn = 'members_left_in 1';

describeEachDatabase('a member whom Gangway did not add', (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createMemoryTool();
  });

  const by = () => ({ actor: 'ada', at: toInstant(engine.clock.now()) });
  const needs = () => countTroublesIn(engine);
  const listed = async () => {
    const rows = await listMemberships(engine.database.kysely, { isUndecided: true, limit: 10 });
    return rows.map(({ trainerId, state }) => `${trainerId} ${state}`);
  };

  async function happens(body: string, protectedAccounts: string[] = []): Promise<void> {
    await engine.apply([body]);
    await convergeDue(engine, tool, { protectedAccounts });
  }

  async function findPresent(): Promise<void> {
    tool.seed('street-signs', 'cmu1');
    await happens(started);
  }

  it('was in before Gangway: the status shows it before and after the end of the contract', async () => {
    await findPresent();
    expect([await needs(), await listed()]).toEqual([[wereIn], ['cmu1 active']]);
    await happens(ended);
    expect([await needs(), await listed()]).toEqual([[leftIn], ['cmu1 released']]);
  });

  it('was added by Gangway and is removed: nothing is shown', async () => {
    await happens(started);
    expect(await needs()).toEqual([]);
    await happens(ended);
    expect([await needs(), tool.members('street-signs')]).toEqual([[], []]);
  });

  it('was left in because the account is protected: it is shown after the end, and an operator accepts it', async () => {
    tool.seed('street-signs', 'cmu1');
    await happens(started, ['cmu1']);
    expect(await needs()).toEqual([]);
    await happens(ended, ['cmu1']);
    expect(await needs()).toEqual([leftIn]);
    await releaseMember(engine, 1, ['opentrain.work'], by());
    expect(await needs()).toEqual([]);
  });

  it('was released by an operator once: it stays silently, also after another contract', async () => {
    await findPresent();
    await releaseMember(engine, 1, [], by());
    expect(await needs()).toEqual([]);
    for (const body of [ended, rehired, endedAgain]) {
      await happens(body);
      expect(await needs()).toEqual([]);
    }
    expect(tool.members('street-signs')).toEqual(['cmu1']);
    await expect(releaseMember(engine, 1, [], by())).rejects.toThrow('so there is nothing to release');
  });

  it('was adopted after it was left in: it is removed, and nothing is shown', async () => {
    await findPresent();
    await happens(ended);
    expect(await adoptMember(engine, 1, by())).toBe('removing');
    await convergeDue(engine, tool);
    expect([await needs(), tool.members('street-signs')]).toEqual([[], []]);
  });

  it('was removed by others after its release: found present again, it is shown again', async () => {
    await findPresent();
    await releaseMember(engine, 1, [], by());
    tool.unseat('street-signs', 'cmu1');
    await happens(ended);
    await engine.pass(60_000);
    await convergeDue(engine, tool);
    expect(await engine.membershipRows()).toMatchObject([{ state: 'removed', releasedBy: null }]);
    tool.seed('street-signs', 'cmu1');
    await happens(rehired);
    expect(await needs()).toEqual([wereIn]);
  });

  it('is managed by the marketplace: it is shown only when Gangway has to manage it again', async () => {
    await happens(started);
    const mode = (id: string, provisioningMode: string) =>
      fullEvent({ type: 'project_link.created', id, provisioningMode });
    await happens(mode('5', 'MANAGED_ADAPTER'));
    expect(await engine.membershipRows()).toMatchObject([{ state: 'released', isOurs: false }]);
    expect(await needs()).toEqual([]);
    await happens(mode('6', 'PARTNER_WEBHOOK'));
    expect(await needs()).toEqual([wereIn]);
  });
});
