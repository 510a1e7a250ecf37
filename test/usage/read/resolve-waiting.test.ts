import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { noteArrival } from '../../../src/memberships/look-store.ts';
import { matchArrived } from '../../../src/usage/read/read-scope.ts';
import { listWaitingIn } from '../../../src/usage/read/scope-member-store.ts';
import { convergeDue } from '../../support/converging.ts';
import { createEngine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createSharedLinkTool } from '../../support/inviting-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const group = 'street-signs';

describe('who has come', () => {
  const wait = (membershipId: number, trainerId: string, ...addresses: string[]) => ({
    membershipId,
    trainerId,
    addresses,
    tool: 'studio',
    groupId: group,
    memberId: `invited:${trainerId}`,
  });
  const match = (...[waiting, listed]: Parameters<typeof matchArrived>) =>
    matchArrived(waiting, listed).map((one) => [one.membershipId, one.accountId]);

  it('is found by any address that they may be in under, in any case', () => {
    const waiting = [wait(1, 'ada', 'ada@x.example', 'ada@y.example'), wait(2, 'ben', 'ben@x.example')];
    const listed = [
      { id: '7', email: 'Ada@Y.example' },
      { id: '8', email: null },
    ];
    expect(match(waiting, listed)).toEqual([[1, '7']]);
  });

  it('is left out if it is not certain which account is theirs', () => {
    const shared = [wait(1, 'ada', 'a@x.example'), wait(2, 'ben', 'a@x.example')];
    expect(match(shared, [{ id: '7', email: 'a@x.example' }])).toEqual([]);
    const twice = [wait(1, 'ada', 'a@x.example', 'b@x.example')];
    const both = [
      { id: '7', email: 'a@x.example' },
      { id: '8', email: 'b@x.example' },
    ];
    expect(match(twice, both)).toEqual([]);
    expect(match(twice, [{ id: '7', email: 'a@x.example', isInvited: true }])).toEqual([]);
  });

  it('may be in two groups with one account', () => {
    const both = [wait(1, 'ada', 'a@x.example'), wait(2, 'ada', 'a@x.example')];
    expect(match(both, [{ id: '7', email: 'a@x.example' }])).toEqual([
      [1, '7'],
      [2, '7'],
    ]);
  });
});

describeAnyDatabase('those who were waited for', (openFresh) => {
  async function invite() {
    const engine = createEngine(await openFresh());
    const tool = createSharedLinkTool();
    const person = (index: number) => ({ contract: `c${index}`, trainer: `t${index}` });
    await engine.apply([1, 2].map((index) => fullEvent({ type: 'contract.started', ...person(index) })));
    await convergeDue(engine, tool);
    const end = () => engine.apply([fullEvent({ type: 'contract.ended', ...person(1) })]);
    return { engine, end };
  }

  it('are trainers with an invitation and no known account, also if they are about to be removed', async () => {
    const { engine, end } = await invite();
    const ids = async () => (await listWaitingIn(engine, 'studio', [group])).map((one) => one.memberId);
    expect(await ids()).toEqual(['invited:t1', 'invited:t2']);
    await end();
    expect(await ids()).toEqual(['invited:t1', 'invited:t2']);
    expect(await listWaitingIn(engine, 'studio', ['elsewhere'])).toEqual([]);
  });

  it('become due once they have arrived, but not by another trainer’s account', async () => {
    const { engine } = await invite();
    const [one, two] = await listWaitingIn(engine, 'studio', [group]);
    if (one === undefined || two === undefined) throw new Error('no trainer waits');
    const now = engine.clock.now().toISOString();
    await inTransaction(engine.database, async (tx) => {
      for (const waiting of [one, two]) await noteArrival(tx, { ...waiting, accountId: '7' }, now);
    });
    expect(await engine.membershipRows()).toMatchObject([
      { memberId: '7', state: 'invited', nextAttemptAt: now },
      { memberId: 'invited:t2' },
    ]);
    expect(await listWaitingIn(engine, 'studio', [group])).toEqual([two]);
  });
});
