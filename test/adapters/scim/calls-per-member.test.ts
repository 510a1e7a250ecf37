import { expect, it } from 'vitest';
import type { Person } from '../../../src/adapters/adapter.ts';
import { scimAdapter } from '../../support/scim-settings.ts';
import { openScimTool } from '../../support/scim-tool.ts';

/** The number of requests for a member, so that an increase is noticed. */

const { signal } = new AbortController();
const group = 'street-signs';

function person(index: number, memberId: string | null = null): Person {
  const email = `trainer.${index}@opentrain.work`;
  return { trainerId: `cmu${index}`, email, displayName: null, memberId };
}

async function open(more: object) {
  const tool = await openScimTool({}, [group]);
  tool.seed({ userName: 'another@x.example' });
  const adapter = scimAdapter(tool, more);
  const count = async (work: () => Promise<unknown>) => {
    const before = tool.requests.length;
    await work();
    return tool.requests.length - before;
  };
  /** As the engine does: look, call, read back. */
  async function add(index: number): Promise<string> {
    await adapter.findMember(group, person(index), signal);
    const { id } = await adapter.addMember(group, person(index), signal);
    await adapter.findMember(group, person(index, id), signal);
    return id;
  }
  async function remove(index: number, id: string): Promise<void> {
    await adapter.findMember(group, person(index, id), signal);
    const member = { id, email: person(index).email };
    if (adapter.removeAccount) await adapter.removeAccount(group, member, signal);
    else await adapter.removeMember(group, member, signal);
    await adapter.findMember(group, person(index, id), signal);
  }
  return { adapter, count, add, remove };
}

it.each([
  ['with groups', {}, { found: 2, added: 10, removed: 9 }],
  ['with groups, the account kept', { offboarding: 'group' }, { found: 2, added: 10, removed: 7 }],
  ['without groups', { group: null }, { found: 1, added: 6, removed: 5 }],
])('%s', async (_how, more, expected) => {
  const { adapter, count, add, remove } = await open(more);
  await add(0);
  let id = '';
  const added = await count(async () => {
    id = await add(1);
  });
  const found = await count(() => adapter.findMember(group, person(1, id), signal));
  const removed = await count(() => remove(1, id));
  expect({ found, added, removed }).toEqual(expected);
});

it('asks only once after a start what the server supports and which group it is', async () => {
  const { count, add } = await open({});
  const [first, second] = [await count(() => add(0)), await count(() => add(1))];
  expect(first - second).toBe(4);
});
