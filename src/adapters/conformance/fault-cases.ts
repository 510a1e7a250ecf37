import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inspect } from 'node:util';
import {
  aborted,
  type Bench,
  type ConformanceCase,
  type RequestKind,
  type ToolFault,
  type ToolFaults,
  toCase,
} from './harness.ts';

interface Failure {
  code?: unknown;
  status?: unknown;
  retryAfterMs?: unknown;
}

const refusals: readonly [status: number, code: string, retryAfterSeconds?: number][] = [
  [302, 'invalid'],
  [400, 'invalid'],
  [401, 'unauthenticated'],
  [403, 'forbidden'],
  [429, 'rate_limited', 7],
  [500, 'unavailable'],
  [503, 'unavailable', 11],
];

/** A time-out for a tool that never answers. */
const shortMs = 60;
/** Long enough for a request to arrive. */
const fairMs = 1000;
/** Turns of the event loop in which a fake tool in this process reads a request. */
const turnsToArrive = 20;
/** How late after its time-out a call may end. */
const patienceMs = 2000;

/** Faults of tools and of the network. */
export const faultCases: readonly ConformanceCase[] = [
  toCase('makes no call that was given up before it began', async (bench) => {
    const { adapter, firstGroup, find } = bench;
    const [stays, stranger] = [bench.toPerson(14), bench.toPerson(15)];
    await bench.withMember(stays, async (member) => {
      await assert.rejects(async () => adapter.findMember(firstGroup, stays, aborted));
      await assert.rejects(async () => adapter.addMember(firstGroup, stranger, aborted));
      await assert.rejects(async () => adapter.removeMember(firstGroup, member, aborted));
      await assert.rejects(async () => adapter.check(aborted));
      if (adapter.listMembers !== undefined) await assert.rejects(bench.list(aborted));
      assert.equal((await find(stays))?.id, member.id);
      assert.equal(await find(stranger), null);
    });
  }),

  // A list that hides these two must not be written back with only the newcomer.
  toFaultCase(
    'writes back no list of members that it has not read whole',
    async ({ adapter, firstGroup, faults, toPerson, signal, withMember, find, remove }) => {
      const [one, two, newcomer] = [toPerson(90), toPerson(91), toPerson(92)];
      const { othersAdded: _, ...unproven } = newcomer;
      await withMember(one, async (first) => {
        await withMember(two, async (second) => {
          // The tool has never shown a member that Gangway added, or shows none of them any more.
          for (const person of [unproven, { ...newcomer, othersAdded: [first.id, second.id] }]) {
            faults.hideMembers?.();
            await adapter.addMember(firstGroup, person, signal()).catch(() => null);
            faults.end();
            assert.equal((await find(one))?.id, first.id, 'a hidden member stays in when another is added');
            assert.equal((await find(two))?.id, second.id, 'and so does the other hidden member');
          }
          const added = await find(newcomer);
          if (added !== null) await remove(added);
          faults.hideMembers?.();
          await remove(first);
          faults.end();
          assert.equal((await find(two))?.id, second.id, 'a hidden member stays in when another is removed');
        });
      });
    },
    ({ faults }) => !faults?.hideMembers && 'needs a tool that can hide who is in a group',
  ),

  toFaultCase('says what a refusal means, and quotes no secret', async (bench) => {
    const { faults, signal } = bench;
    await withCalls(bench, [60, 61], async (kind, call, emails) => {
      for (const [status, code, retryAfterSeconds] of refusals) {
        const what = `${kind} answered ${status}`;
        const after = retryAfterSeconds !== undefined && { retryAfterSeconds };
        const fault: ToolFault = { does: 'answers', status, ...after };
        const error = await failureOf(bench, kind, fault, () => call(signal()), what);
        const { code: seenCode, status: seenStatus, retryAfterMs } = error as Failure;
        assert.deepEqual([seenStatus, seenCode], [status, code], what);
        if (retryAfterSeconds !== undefined) assert.equal(retryAfterMs, retryAfterSeconds * 1000, what);
        assertQuotesNothing(error, [...faults.secrets, ...emails]);
      }
    });
  }),

  toFaultCase('reports a tool that does not answer as unavailable', async (bench) => {
    await withCalls(bench, [62, 63], async (kind, call) => {
      const what = `${kind} without an answer`;
      const late = () => call(AbortSignal.timeout(shortMs));
      const error = await failureOf(bench, kind, { does: 'stalls' }, late, what);
      assert.equal((error as Failure).code, 'unavailable', what);
      assertQuotesNothing(error, bench.faults.secrets);
    });
  }),

  toFaultCase('gives up a call that is under way', async (bench) => {
    await withCalls(bench, [64, 65], async (kind, call) => {
      const controller = new AbortController();
      const timer = setTimeout(() => controller.abort(), shortMs);
      const given = () => call(controller.signal);
      await failureOf(bench, kind, { does: 'stalls' }, given, `${kind} that is given up`);
      clearTimeout(timer);
    });
  }),

  toFaultCase('believes only what the tool shows', async (bench) => {
    const { faults, add, find, remove, withMember, assertListed } = bench;
    const [swallowed, kept] = [bench.toPerson(66), bench.toPerson(67)];
    faults.begin('add', { does: 'swallows' });
    const added = await add(swallowed).catch(() => null);
    faults.end();
    assert.equal(await find(swallowed), null, 'a person that the tool did not add is not found');
    const memberId = added?.id ?? null;
    assert.equal(await find({ ...swallowed, memberId }), null, 'nor by the id of the answer');
    // The addition that the tool dropped does not block the next one.
    await withMember(swallowed, async ({ id }) => assertListed(id, 1));

    await withMember(kept, async (member) => {
      faults.begin('remove', { does: 'swallows' });
      await remove(member).catch(() => undefined);
      faults.end();
      assert.equal((await find(kept))?.id, member.id, 'a member that the tool did not remove is found');
      await assertListed(member.id, 1);
    });
  }),

  toFaultCase('finds a member whose addition was not answered, and does not add them again', async (bench) => {
    const { adapter, firstGroup, find, withMember, assertListed } = bench;
    const person = bench.toPerson(68);
    const quickly = () => adapter.addMember(firstGroup, person, AbortSignal.timeout(fairMs));
    const error = await failureOf(bench, 'add', { does: 'goes_silent' }, quickly, 'an addition');
    assert.equal((error as Failure).code, 'unavailable');
    const found = await find(person);
    assert.ok(found, 'a member that the tool added without an answer is found');
    await withMember(person, async (member) => {
      assert.equal(member.id, found.id);
      await assertListed(member.id, 1);
      const removal = () => adapter.removeMember(firstGroup, member, AbortSignal.timeout(fairMs));
      await failureOf(bench, 'remove', { does: 'goes_silent' }, removal, 'a removal');
      assert.equal(await find(person), null, 'a member that the tool removed without an answer is not found');
    });
  }),
];

type FaultyBench = Bench & { faults: ToolFaults };

function toFaultCase(
  name: string,
  test: (bench: FaultyBench) => Promise<void>,
  skip: Parameters<typeof toCase>[2] = ({ faults }) => !faults && 'needs a tool that can be made to misbehave',
): ConformanceCase {
  const withFaults = async (bench: Bench) => {
    const { faults } = bench.harness;
    if (faults !== undefined) await test({ ...bench, faults }).finally(() => faults.end());
  };
  return toCase(name, withFaults, skip);
}

/** Tries each call of the port while one person is a member and another is not. No call may change that. */
async function withCalls(
  { adapter, firstGroup, toPerson, find, list, withMember }: FaultyBench,
  [presentIndex, absentIndex]: readonly [number, number],
  tryCall: (kind: RequestKind, call: (signal: AbortSignal) => Promise<unknown>, emails: string[]) => Promise<void>,
): Promise<void> {
  const [present, absent] = [toPerson(presentIndex), toPerson(absentIndex)];
  await withMember(present, async (member) => {
    const calls: [RequestKind, (signal: AbortSignal) => Promise<unknown>][] = [
      ['check', (signal) => adapter.check(signal)],
      ['read', (signal) => adapter.findMember(firstGroup, present, signal)],
      ['read', (signal) => adapter.findMember(firstGroup, { ...present, memberId: member.id }, signal)],
      ['read', (signal) => adapter.findMember(firstGroup, absent, signal)],
      ['add', (signal) => adapter.addMember(firstGroup, absent, signal)],
      ['remove', (signal) => adapter.removeMember(firstGroup, member, signal)],
    ];
    if (adapter.listMembers !== undefined) calls.push(['read', list]);
    for (const [kind, call] of calls) await tryCall(kind, call, [present.email, absent.email]);
    assert.equal((await find(present))?.id, member.id);
    assert.equal(await find(absent), null);
  });
}

/** Makes a call while the tool misbehaves. It must fail, and soon. */
async function failureOf(
  { faults }: FaultyBench,
  kind: RequestKind,
  fault: ToolFault,
  call: () => Promise<unknown>,
  what: string,
): Promise<unknown> {
  faults.begin(kind, fault);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('still waits'), patienceMs);
  });
  try {
    const ended = call().then(
      () => 'succeeds',
      (error: unknown) => ({ error }),
    );
    const outcome = await Promise.race([ended, late]);
    if (typeof outcome !== 'string') return outcome.error;
    return assert.fail(`${what}: it ${outcome}`);
  } finally {
    clearTimeout(timer);
    // A request that was sent before the call ended must still meet the fault.
    for (let turn = 0; turn < turnsToArrive; turn += 1) await nextTurn();
    faults.end();
  }
}

/** Logs show an error with all its causes. */
function assertQuotesNothing(error: unknown, secrets: readonly string[]): void {
  const shown = inspect(error, { depth: 10 }).toLowerCase();
  for (const secret of secrets) {
    for (const guise of [secret, encodeURIComponent(secret)]) {
      // The default text of the assertion would quote the secret.
      assert.ok(!shown.includes(guise.toLowerCase()), 'an error quotes a secret or an address');
    }
  }
}
