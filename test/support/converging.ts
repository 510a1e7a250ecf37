import type { Context } from '../../src/context.ts';
import {
  type Claim,
  claimMemberships,
  convergeLeaseMs,
  installsWithMembershipsDue,
  type MembershipClaimOrder,
} from '../../src/converge/claim-store.ts';
import { convergeMembership } from '../../src/converge/converge-membership.ts';
import type { SettledResult } from '../../src/converge/converge-result.ts';
import { createConvergeWorker } from '../../src/converge/converge-worker.ts';
import { resetInvitations } from '../../src/converge/reset-worker.ts';
import type { Database } from '../../src/db/database.ts';
import type { RouteLink } from '../../src/domain/install.ts';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import type { Loop } from '../../src/lib/loop.ts';
import { type Engine, inStudio } from './engine-harness.ts';
import { fullEvent } from './event-bodies.ts';
import type { MemoryTool } from './memory-tool.ts';
import { until } from './until.ts';
import { watchQueries } from './watch-queries.ts';

/** Leases what is due in the tool `studio`, as a worker does. */
export async function claimDue(
  engine: Engine,
  {
    database = engine.database,
    token = 'worker',
    limit = 100,
    exclusiveBy = [] as MembershipClaimOrder['exclusiveBy'],
    makesLogins = false,
  } = {},
): Promise<Claim[]> {
  const { box, clock } = engine;
  const now = toInstant(clock.now());
  const order = { tool: 'studio', token, limit, now, leasedUntil: instantIn(clock, convergeLeaseMs) };
  const claimed: Claim[] = [];
  for (const install of await installsWithMembershipsDue({ database, box }, 'studio', now)) {
    claimed.push(...(await claimMemberships({ database, box }, { ...order, install, exclusiveBy, makesLogins })));
  }
  return claimed;
}

/** Leases one membership of the tool `studio`. */
export async function claimOne(engine: Engine, token = 'worker'): Promise<Claim> {
  const [claim] = await claimDue(engine, { token, limit: 1 });
  if (claim === undefined) throw new Error('nothing was due');
  return claim;
}

export interface Converging {
  /** The engine's unless given, for example one that breaks. */
  database?: Database;
  /** The engine's unless given. */
  routeLink?: RouteLink;
  protectedAccounts?: string[];
  makesLogins?: boolean;
  timeoutMs?: number;
  /** Whether accounts may be ended, renamed or activated; as where no other customer shares the tool. */
  mayChangeAccounts?: boolean;
  signal?: AbortSignal;
}

/** Brings one claimed membership in line. */
export async function converge(
  engine: Engine,
  tool: MemoryTool,
  claim: Claim,
  {
    database = engine.database,
    routeLink = engine.routeLink,
    protectedAccounts = [],
    timeoutMs = 5000,
    mayChangeAccounts = true,
    signal,
  }: Converging = {},
): Promise<SettledResult | null> {
  const ctx = { ...withStudio(engine, tool, { protectedAccounts, timeoutMs, mayChangeAccounts }), database, routeLink };
  return await convergeMembership(ctx, claim, signal ?? new AbortController().signal);
}

/** The engine with the one tool `studio`. */
export function withStudio(
  engine: Engine,
  { adapter }: Pick<MemoryTool, 'adapter'>,
  {
    protectedAccounts = [] as string[],
    timeoutMs = 5000,
    concurrency = 8,
    mayChangeAccounts = true,
    isShared = false,
  } = {},
): Context {
  const { config } = engine;
  const studio = { adapter: 'memory', protected: protectedAccounts, concurrency, timeoutMs, settings: {} };
  const sharing = ['acme', 'globex'].slice(0, isShared || !mayChangeAccounts ? 2 : 1);
  return {
    ...engine,
    config: { ...config, tools: new Map([['studio', studio]]) },
    adapters: new Map([['studio', adapter]]),
    installs: new Map(sharing.map((install) => [install, inStudio()])),
  };
}

/** The same database for a process that dies before it has stored what came of a call. */
export function crashingAtReceipt(database: Database): Database {
  return watchQueries(database, { 'insert receipt': () => Promise.reject(new Error('crash')) });
}

/** Brings everything in line that is due now and that the brake lets pass, one after the other. */
export async function convergeDue(engine: Engine, tool: MemoryTool, options: Converging = {}): Promise<string[]> {
  await engine.brake();
  const outcomes: string[] = [];
  for (const claim of await claimDue(engine, { makesLogins: options.makesLogins ?? false })) {
    const result = await converge(engine, tool, claim, options);
    outcomes.push(result === null ? 'put back' : `${result.operation} ${result.outcome}`);
  }
  return outcomes;
}

/** Resets the link of the tool `studio` where that is due, as its worker would. */
export async function resetDue(
  engine: Engine,
  tool: Pick<MemoryTool, 'adapter'>,
  { database = engine.database, signal = new AbortController().signal } = {},
): Promise<void> {
  await resetInvitations({ ...withStudio(engine, tool), database }, 'studio', signal);
}

/** The real worker of the tool `studio`, over a database of its own where one is given. */
export function createStudioWorker(
  engine: Engine,
  tool: MemoryTool,
  { database = engine.database, concurrency = 8, isShared = false, timeoutMs = 5000 } = {},
): Loop {
  const ctx = { ...withStudio(engine, tool, { concurrency, isShared, timeoutMs }), database };
  return createConvergeWorker(ctx, 'studio', { beforeClaiming: async () => undefined });
}

/** `operation outcome` of every receipt, oldest first. */
export async function receiptsOf(engine: Engine): Promise<string[]> {
  const receipts = engine.database.kysely.selectFrom('receipt').selectAll().orderBy('id');
  return (await receipts.execute()).map(({ operation, outcome }) => `${operation} ${outcome}`);
}

/** An event about the trainer and the contract of this number. */
export function numberedEvent(type: string, number: number): string {
  return fullEvent({ type, contract: `c${number}`, trainer: `t${number}` });
}

/** So many trainers are hired at once, each by a contract of their own. */
export async function hire(engine: Engine, count: number, first = 1): Promise<void> {
  const numbers = Array.from({ length: count }, (_, index) => first + index);
  await engine.apply(numbers.map((number) => numberedEvent('contract.started', number)));
}

export async function countActive(engine: Engine): Promise<number> {
  return (await engine.membershipRows()).filter(({ state }) => state === 'active').length;
}

export async function untilActive(engine: Engine, count: number): Promise<void> {
  await until(
    `${count} are members`,
    () => countActive(engine),
    (active) => active === count,
  );
}
