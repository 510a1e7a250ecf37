import { expect, it } from 'vitest';
import type { Member } from '../../src/adapters/adapter.ts';
import { readGroup } from '../../src/tools/call-tool.ts';

const limits = { timeoutMs: 5000, maxMembers: 10 };
const never = new AbortController().signal;

/** Lists so many members, the last one only after `wait`. */
function listing(count: number, wait: () => Promise<void> = async () => undefined) {
  let given = 0;
  let isLeft = false;
  return {
    given: () => given,
    isLeft: () => isLeft,
    async *list(): AsyncGenerator<Member> {
      try {
        while (given < count) {
          if (given === count - 1) await wait();
          given += 1;
          yield { id: `m${given}`, email: null };
        }
      } finally {
        isLeft = true;
      }
    },
  };
}

it('gives every member once, however often a tool lists it', async () => {
  async function* list(): AsyncGenerator<Member> {
    for (const id of ['a', 'b', 'a', '__proto__']) yield { id, email: `${id}@lab.example` };
  }
  const members = await readGroup(list, 'signs', limits, never);
  expect(members.map(({ id }) => id)).toEqual(['a', 'b', '__proto__']);
});

it('asks for the given group, with a signal that times out', async () => {
  const signals: AbortSignal[] = [];
  async function* list(group: string, signal: AbortSignal): AsyncGenerator<Member> {
    signals.push(signal);
    yield { id: group, email: null };
  }
  expect(await readGroup(list, '../signs', limits, never)).toEqual([{ id: '../signs', email: null }]);
  expect(signals).toHaveLength(1);
});

it('refuses a list with too many members', async () => {
  const { list, given, isLeft } = listing(1_000_000);
  await expect(readGroup(list, 'signs', limits, never)).rejects.toMatchObject({ code: 'invalid' });
  expect(given()).toBe(11);
  expect(isLeft()).toBe(true);
});

it('gives up a tool that takes too long, and ignores its late answer', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { list, given, isLeft } = listing(3, () => promise);
  const read = readGroup(list, 'signs', { ...limits, timeoutMs: 20 }, never);
  await expect(read).rejects.toMatchObject({ code: 'unavailable' });
  resolve();
  await expect.poll(isLeft).toBe(true);
  expect(given()).toBe(3);
});

it('ends at once when the engine stops', async () => {
  const stopping = new AbortController();
  const { list } = listing(2, () => new Promise(() => undefined));
  const read = readGroup(list, 'signs', limits, stopping.signal);
  stopping.abort();
  await expect(read).rejects.toMatchObject({ code: 'unavailable' });
});
