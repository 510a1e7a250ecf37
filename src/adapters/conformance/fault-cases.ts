import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inspect } from 'node:util';
import {
  aborted,
  add,
  assertListed,
  type ConformanceCase,
  type ConformanceHarness,
  find,
  list,
  type RequestKind,
  remove,
  signalOf,
  type ToolFault,
  type ToolFaults,
  withMember,
} from './harness.ts';

/** Faults of tools and of the network. */
export const faultCases: readonly ConformanceCase[] = [
  { name: 'makes no call that was given up before it began', run: heedsItsSignal },
  {
    name: 'writes back no list of members that it has not read whole',
    skip: ({ faults }) => (faults?.hideMembers ? null : 'needs a tool that can hide who is in a group'),
    run: (harness) => withFaults(harness, keepsHiddenMembers),
  },
  ...[
    { name: 'says what a refusal means, and quotes no secret', run: mapsRefusals },
    { name: 'reports a tool that does not answer as unavailable', run: timesOut },
    { name: 'gives up a call that is under way', run: givesUp },
    { name: 'believes only what the tool shows', run: seesThrough },
    {
      name: 'finds a member whose addition was not answered, and does not add them again',
      run: findsLater,
    },
  ].map(({ name, run }) => ({
    name,
    skip: ({ faults }: ConformanceHarness) => (faults ? null : 'needs a tool that can be made to misbehave'),
    run: (harness: ConformanceHarness) => withFaults(harness, run),
  })),
];

interface FaultyHarness extends ConformanceHarness {
  faults: ToolFaults;
}

async function withFaults(harness: ConformanceHarness, run: (harness: FaultyHarness) => Promise<void>): Promise<void> {
  const { faults } = harness;
  if (faults !== undefined) await run({ ...harness, faults }).finally(() => faults.end());
}

async function heedsItsSignal(harness: ConformanceHarness): Promise<void> {
  const { adapter, groups } = harness;
  const [group] = groups;
  const [stays, stranger] = [harness.person(14), harness.person(15)];
  await withMember(harness, stays, async (member) => {
    await assert.rejects(async () => adapter.findMember(group, stays, aborted));
    await assert.rejects(async () => adapter.addMember(group, stranger, aborted));
    await assert.rejects(async () => adapter.removeMember(group, member, aborted));
    await assert.rejects(async () => adapter.check(aborted));
    if (adapter.listMembers !== undefined) await assert.rejects(list(harness, aborted));
    assert.equal((await find(harness, stays))?.id, member.id);
    assert.equal(await find(harness, stranger), null);
  });
}

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

async function mapsRefusals(harness: FaultyHarness): Promise<void> {
  await withCalls(harness, [60, 61], async (kind, call, emails) => {
    for (const [status, code, retryAfterSeconds] of refusals) {
      const what = `${kind} answered ${status}`;
      const after = retryAfterSeconds !== undefined && { retryAfterSeconds };
      const fault: ToolFault = { does: 'answers', status, ...after };
      const error = await failureOf(harness, kind, fault, () => call(signalOf(harness)), what);
      const { code: seenCode, status: seenStatus, retryAfterMs } = error as Failure;
      assert.deepEqual([seenStatus, seenCode], [status, code], what);
      if (retryAfterSeconds !== undefined) assert.equal(retryAfterMs, retryAfterSeconds * 1000, what);
      assertQuotesNothing(error, [...harness.faults.secrets, ...emails]);
    }
  });
}

async function timesOut(harness: FaultyHarness): Promise<void> {
  await withCalls(harness, [62, 63], async (kind, call) => {
    const what = `${kind} without an answer`;
    const late = () => call(AbortSignal.timeout(shortMs));
    const error = await failureOf(harness, kind, { does: 'stalls' }, late, what);
    assert.equal((error as Failure).code, 'unavailable', what);
    assertQuotesNothing(error, harness.faults.secrets);
  });
}

async function givesUp(harness: FaultyHarness): Promise<void> {
  await withCalls(harness, [64, 65], async (kind, call) => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), shortMs);
    const given = () => call(controller.signal);
    await failureOf(harness, kind, { does: 'stalls' }, given, `${kind} that is given up`);
    clearTimeout(timer);
  });
}

async function seesThrough(harness: FaultyHarness): Promise<void> {
  const [swallowed, kept] = [harness.person(66), harness.person(67)];
  harness.faults.begin('add', { does: 'swallows' });
  const added = await add(harness, swallowed).catch(() => null);
  harness.faults.end();
  assert.equal(await find(harness, swallowed), null, 'a person that the tool did not add is not found');
  const memberId = added?.id ?? null;
  assert.equal(await find(harness, { ...swallowed, memberId }), null, 'nor by the id of the answer');
  // The first addition that the tool dropped does not stand in the way of the second.
  await withMember(harness, swallowed, async (member) => assertListed(harness, member.id, 1));

  await withMember(harness, kept, async (member) => {
    harness.faults.begin('remove', { does: 'swallows' });
    await remove(harness, member).catch(() => undefined);
    harness.faults.end();
    assert.equal((await find(harness, kept))?.id, member.id, 'a member that the tool did not remove is found');
    await assertListed(harness, member.id, 1);
  });
}

async function findsLater(harness: FaultyHarness): Promise<void> {
  const { adapter, groups } = harness;
  const person = harness.person(68);
  const quickly = () => adapter.addMember(groups[0], person, AbortSignal.timeout(fairMs));
  const error = await failureOf(harness, 'add', { does: 'goes_silent' }, quickly, 'an addition');
  assert.equal((error as Failure).code, 'unavailable');
  const found = await find(harness, person);
  assert.ok(found, 'a member that the tool added without an answer is found');
  await withMember(harness, person, async (member) => {
    assert.equal(member.id, found.id);
    await assertListed(harness, member.id, 1);
    const removal = () => adapter.removeMember(groups[0], member, AbortSignal.timeout(fairMs));
    await failureOf(harness, 'remove', { does: 'goes_silent' }, removal, 'a removal');
    assert.equal(await find(harness, person), null, 'a member that the tool removed without an answer is not found');
  });
}

/** A list that does not show these two must not be written back with another person instead of them. */
async function keepsHiddenMembers(harness: FaultyHarness): Promise<void> {
  const { adapter, groups, faults } = harness;
  const [one, two, newcomer] = [harness.person(90), harness.person(91), harness.person(92)];
  const { othersAdded: _, ...unproven } = newcomer;
  await withMember(harness, one, async (first) => {
    await withMember(harness, two, async (second) => {
      // The tool has never shown a member that Gangway added, or shows none of them any more.
      for (const person of [unproven, { ...newcomer, othersAdded: [first.id, second.id] }]) {
        faults.hideMembers?.();
        await adapter.addMember(groups[0], person, signalOf(harness)).catch(() => null);
        faults.end();
        assert.equal((await find(harness, one))?.id, first.id, 'who was not shown when another was added is still in');
        assert.equal((await find(harness, two))?.id, second.id, 'and so is the next');
      }
      const added = await find(harness, newcomer);
      if (added !== null) await remove(harness, added);
      faults.hideMembers?.();
      await remove(harness, first);
      faults.end();
      assert.equal((await find(harness, two))?.id, second.id, 'who was not shown when another was removed is still in');
    });
  });
}

/** A time-out for a tool that never answers. */
const shortMs = 60;
/** Long enough for a request to arrive. */
const fairMs = 400;
/** In so many turns of the event loop, a fake tool in this process reads a request that was sent. */
const turnsToArrive = 20;
/** How long after its time-out a call may end. */
const patienceMs = 2000;

/**
 * Tries every call of the port, with the kind of request that it needs, while one person is a member and another is
 * not. None of the calls may change that.
 */
async function withCalls(
  harness: FaultyHarness,
  [presentIndex, absentIndex]: readonly [number, number],
  tryCall: (kind: RequestKind, call: (signal: AbortSignal) => Promise<unknown>, emails: string[]) => Promise<void>,
): Promise<void> {
  const { adapter, groups } = harness;
  const [group] = groups;
  const [present, absent] = [harness.person(presentIndex), harness.person(absentIndex)];
  await withMember(harness, present, async (member) => {
    const calls: [RequestKind, (signal: AbortSignal) => Promise<unknown>][] = [
      ['check', (signal) => adapter.check(signal)],
      ['read', (signal) => adapter.findMember(group, present, signal)],
      ['read', (signal) => adapter.findMember(group, { ...present, memberId: member.id }, signal)],
      ['read', (signal) => adapter.findMember(group, absent, signal)],
      ['add', (signal) => adapter.addMember(group, absent, signal)],
      ['remove', (signal) => adapter.removeMember(group, member, signal)],
    ];
    if (adapter.listMembers !== undefined) calls.push(['read', (signal) => list(harness, signal)]);
    for (const [kind, call] of calls) await tryCall(kind, call, [present.email, absent.email]);
    assert.equal((await find(harness, present))?.id, member.id);
    assert.equal(await find(harness, absent), null);
  });
}

/** Makes a call while the tool misbehaves. The call must fail, and soon. */
async function failureOf(
  { faults }: FaultyHarness,
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
    // A request that was sent before the call ended must still meet the fault, and not be executed after it.
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
