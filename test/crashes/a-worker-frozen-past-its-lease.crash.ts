import { expect, it } from 'vitest';
import {
  acmeSecret,
  type BridgeProcess,
  openIdleMarketplace,
  startBridge,
  writeBridgeConfig,
} from '../support/bridge-process.ts';
import { type BridgeState, openBridgeState } from '../support/bridge-state.ts';
import { postgres } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';
import { type HttpTool, openHttpTool, withHttpTool } from '../support/http-tool.ts';
import { type ContractEvent, toBody } from '../support/lifecycle-events.ts';
import { createSender } from '../support/sender.ts';
import { until } from '../support/until.ts';

/** The trainers, named after how far the frozen process got with their call. */
const [unmade, unanswered, unremoved] = ['unmade', 'unanswered', 'unremoved'];

/** What the other process settles. */
const settled = [
  { trainerId: unanswered, generation: 2, state: 'removed' },
  { trainerId: unmade, generation: 2, state: 'removed' },
  { trainerId: unremoved, generation: 3, state: 'active' },
];
/** What the frozen process reports when it wakes: each under the generation before. */
const late = [
  { trainerId: unanswered, generation: 1 },
  { trainerId: unmade, generation: 1 },
  { trainerId: unremoved, generation: 2 },
];

it('a process that wakes after its lease expired settles nothing, and the tool stays as the other process left it', async () => {
  // Half a minute, nearly all of it waiting for a lease on a real clock.
  await freeze();
});

/**
 * On PostgreSQL, because a SQLite file takes one bridge, frozen or not. One of two processes is frozen inside three calls: an addition that the tool has not made yet, one that it has made but
 * not answered, and a removal that it has not made yet. The opposite of each becomes wanted, and the other process takes
 * over when the lease expires. Only then does the tool make the outstanding calls, as if a proxy had held them back, and
 * the first process wakes.
 */
async function freeze(): Promise<void> {
  const others = hireOthers();
  const marketplace = await openIdleMarketplace(others);
  const setup = writeBridgeConfig(createFolder(), await postgres.createMigrated(), marketplace);
  const state = openBridgeState(setup.databaseUrl);
  const tool = await openHttpTool();
  const first = await startBridge(withHttpTool(setup, tool));
  await deliver(first, [hired(unremoved, 1)]);
  await state.settled();
  await proveQuick(tool, state, first, others);

  const { areHeld, release } = holdCallsOf(tool, first);
  await deliver(first, [hired(unmade, 2), hired(unanswered, 3), ended(unremoved, 4)]);
  await areHeld;
  process.kill(first.pid, 'SIGSTOP');
  const leasedUntil = await leasesOf(state);
  expect(leasedUntil).toHaveLength(3);

  const second = await startBridge(withHttpTool(setup, tool));
  const hiredAgain = { ...hired(unremoved, 7), contract: 'another' };
  await deliver(second, [ended(unmade, 5), ended(unanswered, 6), hiredAgain]);
  await state.settled();
  const [begun] = tool.calls.filter(({ pid }) => pid === second.pid);
  expect([leasedUntil[0], begun?.at].toSorted()).toEqual([leasedUntil[0], begun?.at]);
  expect(membersOf(tool)).toEqual([`signs/${unremoved}`]);
  expect(await statesOf(state)).toEqual(settled);
  expect(await lateReceiptsOf(state)).toEqual([]);

  release();
  await until(
    'the tool makes the late calls',
    () => membersOf(tool),
    (members) => members.join() === `signs/${unmade}`,
  );
  const goOn = holdLooksAfterLateReceipts(tool, state, first);
  process.kill(first.pid, 'SIGCONT');
  const reported = () => lateReceiptsOf(state);
  await until('it reports its three calls', reported, ({ length }) => length === late.length);
  expect(await statesOf(state)).toEqual(settled);
  goOn();
  await state.settled();
  expect(membersOf(tool)).toEqual([`signs/${unremoved}`]);
  expect(await statesOf(state)).toEqual(settled);
  expect(await Promise.all([first.stop(), second.stop()])).toEqual([0, 0]);
}

/** People who stay throughout. */
function hireOthers(): ContractEvent[] {
  return Array.from({ length: 24 }, (_, index) => ({
    ...hired(`other${index}`, 100 + index),
    project: 'lamps',
  }));
}

/**
 * Several calls at once are made only to a tool that proved to be quick while others waited. So its first answer is held
 * back until the others wait.
 */
async function proveQuick(
  tool: HttpTool,
  state: BridgeState,
  bridge: BridgeProcess,
  others: readonly ContractEvent[],
): Promise<void> {
  const { promise: allWait, resolve: go } = Promise.withResolvers<void>();
  tool.before = () => allWait;
  await deliver(bridge, others);
  await until(
    'everybody is wanted',
    () => countMembershipsOf(state, 'lamps'),
    (count) => count === others.length,
  );
  go();
  await state.settled();
}

function membersOf(tool: HttpTool): string[] {
  return tool.members().filter((member) => member.startsWith('signs/'));
}

function hired(trainer: string, number: number): ContractEvent {
  const createdAt = new Date().toISOString();
  const contract = `ctr-${trainer}`;
  return { type: 'contract.started', number, contract, trainer, project: 'signs', createdAt };
}

function ended(trainer: string, number: number): ContractEvent {
  return { ...hired(trainer, number), type: 'contract.ended' };
}

async function deliver({ url }: BridgeProcess, events: readonly ContractEvent[]): Promise<void> {
  const sender = createSender(acmeSecret, 1);
  for (const event of events) {
    const { status } = await sender.send(url, toBody(event), `delivery-${event.number}`);
    expect(status).toBe(200);
  }
}

/** Holds the three calls inside the tool until they are released. */
function holdCallsOf(tool: HttpTool, { pid }: BridgeProcess) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: areHeld, resolve: haveArrived } = Promise.withResolvers<void>();
  const expected = new Set([`PUT signs/${unmade}`, `PUT signs/${unanswered}`, `DELETE signs/${unremoved}`]);

  const holdAt =
    (isEffective: boolean): HttpTool['before'] =>
    async (call) => {
      const which = `${call.method} ${call.member}`;
      if (call.pid !== pid || isEffective !== which.endsWith(unanswered)) return;
      if (!expected.delete(which)) return;
      if (expected.size === 0) haveArrived();
      await released;
    };
  tool.before = holdAt(false);
  tool.after = holdAt(true);
  return { areHeld, release };
}

/** Keeps the first process from repairing anything before the test has seen what its late receipts left. */
function holdLooksAfterLateReceipts(tool: HttpTool, state: BridgeState, { pid }: BridgeProcess) {
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
  tool.before = async (call) => {
    const reported = await lateReceiptsOf(state);
    const isReported = reported.some(({ trainerId }) => call.member === `signs/${trainerId}`);
    if (call.pid !== pid || isReported) await mayGoOn;
  };
  return goOn;
}

async function countMembershipsOf({ database }: BridgeState, group: string): Promise<number> {
  const wanted = await database.kysely.selectFrom('membership').select('id').where('groupId', '=', group).execute();
  return wanted.length;
}

async function leasesOf({ database }: BridgeState): Promise<(string | null)[]> {
  const memberships = database.kysely.selectFrom('membership').select('leasedUntil');
  const leased = await memberships.where('leaseToken', 'is not', null).orderBy('leasedUntil').execute();
  return leased.map(({ leasedUntil }) => leasedUntil);
}

async function statesOf({ database }: BridgeState) {
  const memberships = database.kysely.selectFrom('membership');
  return await memberships
    .select(['trainerId', 'generation', 'state'])
    .where('groupId', '=', 'signs')
    .orderBy('trainerId')
    .execute();
}

/** The receipts of calls that the first process began under a generation that the other has since replaced. */
async function lateReceiptsOf({ database }: BridgeState) {
  const receipts = await database.kysely
    .selectFrom('receipt')
    .innerJoin('membership', 'membership.id', 'receipt.membershipId')
    .select(['trainerId', 'receipt.generation', 'operation', 'outcome'])
    .orderBy('receipt.id')
    .execute();
  return receipts.filter((receipt) =>
    late.some((one) => one.trainerId === receipt.trainerId && one.generation === receipt.generation),
  );
}
