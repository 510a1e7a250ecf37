import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import {
  acmeSecret,
  type BridgeSetup,
  openIdleMarketplace,
  startBridge,
  writeBridgeConfig,
} from '../support/bridge-process.ts';
import { type BridgeState, openBridgeState } from '../support/bridge-state.ts';
import { createFolder } from '../support/folder.ts';
import { type HttpTool, openHttpTool, type ToolCall } from '../support/http-tool.ts';
import { type ContractEvent, toBody } from '../support/lifecycle-events.ts';
import { createSender } from '../support/sender.ts';
import { membersOf, projects, startTraffic, type Traffic } from '../support/traffic.ts';
import { until } from '../support/until.ts';
import { unbraked } from './crash-runs.ts';

/** What a bridge works with and what outlives it: a marketplace, and a tool that records its calls. */
export interface CrashWorld {
  setup: BridgeSetup;
  tool: HttpTool;
  /** Hires people under contracts that never end, and waits until they are in. The traffic hires and ends the same people. */
  hireForGood(url: string): Promise<void>;
  /** Expects everybody who was hired for good to be in, and none of them ever to have been removed. */
  expectKept(): void;
  /** How many calls added somebody who was in, or removed somebody who was out. */
  countRepeated(): number;
  /** What must hold in the end, when the traffic has stopped and a bridge is running. */
  expectRight(state: BridgeState, traffic: Pick<Traffic, 'answered'>): Promise<void>;
}

/** The traffic starts and ends other contracts of these people all the time. */
const forGood = Array.from({ length: 10 }, (_, index) => `usr${index}`);
/** Far above the numbers that the traffic uses. */
const firstNumber = 900_000_000;

/** @param managedDomains domains whose addresses are ours, whatever the database says */
export async function openCrashWorld(databaseUrl: string, managedDomains: string[] = []): Promise<CrashWorld> {
  const hired = hireEach();
  const [baseUrl, tool] = await Promise.all([openIdleMarketplace(hired), openHttpTool()]);
  const tools = { list: toToolSettings(tool) };
  const changes = { ...unbraked, tools, marketplace: { baseUrl, managedDomains } };
  const setup = writeBridgeConfig(createFolder(), databaseUrl, baseUrl, changes);
  const kept = hired.map(({ project, trainer }) => `${project}/${trainer}`).toSorted();
  const repeated: ToolCall[] = [];
  const mistaken: string[] = [];
  tool.before = (call) => {
    const { method, member } = call;
    if (method === 'DELETE' && kept.includes(member)) mistaken.push(member);
    if (method !== 'GET' && tool.has(member) === (method === 'PUT')) repeated.push(call);
  };

  function expectKept(): void {
    expect(mistaken).toEqual([]);
    expect(kept.filter((member) => !tool.has(member))).toEqual([]);
  }

  return {
    setup,
    tool,
    async hireForGood(url) {
      const sender = createSender(acmeSecret, 1);
      for (const event of hired) {
        expect(await sender.send(url, toBody(event), event.contract)).toMatchObject({ status: 200 });
      }
      const missing = () => kept.filter((member) => !tool.has(member));
      await until('those who are hired for good are in', missing, ({ length }) => length === 0);
    },
    expectKept,
    countRepeated: () => repeated.length,
    async expectRight(state, { answered }) {
      await state.settled();
      const stored = await state.stored();
      const bodies = new Set(stored.map(({ body }) => body));
      expect(stored).toHaveLength(bodies.size);
      expect([...answered].filter((body) => !bodies.has(body))).toEqual([]);
      expect(stored.filter(({ state: is }) => is !== 'handled')).toEqual([]);
      expectKept();
      expect(tool.members()).toEqual(membersOf(bodies));
      expect(await listNeedless(state.database, repeated)).toEqual([]);
    },
  };
}

/**
 * A world with a bridge and its traffic.
 *
 * @param reachedBy the address of the database that the bridge uses
 */
export async function openBusyWorld(databaseUrl: string, random: () => number, reachedBy = databaseUrl) {
  const world = await openCrashWorld(reachedBy);
  const bridge = await startBridge(world.setup);
  await world.hireForGood(bridge.url);
  const traffic = startTraffic(random, bridge.url);
  await untilAnswered(traffic);
  return {
    world,
    bridge,
    traffic,
    /** Ends the traffic and the bridge, and returns the state that they leave. */
    async expectRight(): Promise<BridgeState> {
      await untilAnswered(traffic);
      await traffic.stop();
      const state = openBridgeState(databaseUrl);
      await world.expectRight(state, traffic);
      expect(await bridge.stop()).toBe(0);
      return state;
    },
  };
}

function hireEach(): ContractEvent[] {
  const pairs = projects.flatMap((project) => forGood.map((trainer) => ({ project, trainer })));
  return pairs.map((pair, index) => ({
    ...pair,
    type: 'contract.started',
    number: firstNumber + index,
    contract: `good${index}`,
    createdAt: new Date().toISOString(),
  }));
}

/** Expects a SQLite file without corruption. */
export async function expectWholeFile({ kysely }: Database): Promise<void> {
  expect((await sql`pragma integrity_check`.execute(kysely)).rows).toEqual([{ integrityCheck: 'ok' }]);
  expect((await sql`pragma foreign_key_check`.execute(kysely)).rows).toEqual([]);
}

/** Waits until so many more deliveries are answered with 200. */
export async function untilAnswered({ answered }: Traffic, more = 1): Promise<void> {
  const enough = answered.size + more;
  await until(
    'deliveries are answered',
    () => answered.size,
    (size) => size >= enough,
  );
}

/**
 * Calls that changed nothing, except removals after a call whose outcome was not recorded: the process died first, the
 * database was unavailable, or the tool gave no answer. The tool removes by id, so such a removal is sent again even if a
 * look finds nobody (`removesUnseen`): at once, and again when the first call can no longer arrive.
 *
 * @returns each call with the intents and receipts of its member, in order
 */
async function listNeedless({ kysely }: Database, repeated: readonly ToolCall[]): Promise<string[]> {
  const intents = await kysely
    .selectFrom('intent')
    .innerJoin('membership', 'membership.id', 'intent.membershipId')
    .select(['groupId', 'trainerId', 'operation', 'intent.createdAt as at'])
    .orderBy('intent.id')
    .execute();
  const receipts = await kysely
    .selectFrom('receipt')
    .innerJoin('membership', 'membership.id', 'receipt.membershipId')
    .select(['groupId', 'trainerId', 'outcome', 'toolStatus', 'receipt.createdAt as at'])
    .execute();
  const isOf = (member: string) => (row: { groupId: string; trainerId: string }) =>
    `${row.groupId}/${row.trainerId}` === member;
  return [...Map.groupBy(repeated, ({ member }) => member)].flatMap(([member, calls]) => {
    const begun = intents.filter(isOf(member));
    const ended = receipts.filter(isOf(member));
    const recorded = ended.filter(
      ({ outcome, toolStatus }) => toolStatus !== null || ['added', 'removed', 'refused'].includes(outcome),
    );
    const isOpen = ({ at }: { at: string }, index: number) =>
      !recorded.some((end) => at <= end.at && end.at <= (begun[index + 1]?.at ?? end.at));
    const explained = 2 * begun.filter(isOpen).length;
    const needless = [
      ...calls.filter(({ method }) => method === 'PUT'),
      ...calls.filter(({ method }) => method === 'DELETE').slice(explained),
    ];
    const story = [
      ...begun.map(({ at, operation }) => `${at} meant ${operation}`),
      ...ended.map(({ at, outcome, toolStatus }) => `${at} recorded ${outcome} (${toolStatus})`),
    ].toSorted();
    return needless.map(({ method, at }) => [`${method} ${member} at ${at}`, ...story].join('\n'));
  });
}

export function toToolSettings({ url }: HttpTool): object {
  const item = { path: '/{group}/{trainerId}' };
  return {
    adapter: 'http',
    url,
    token: 'tool-token',
    offboarding: 'locks_out',
    member: { id: 'id', email: 'email' },
    requests: {
      check: { path: '/' },
      find: { ...item, items: '', absent: [404], pages: 'none' },
      add: { ...item, method: 'PUT', item: '' },
      remove: { path: '/{group}/{memberId}' },
    },
  };
}
