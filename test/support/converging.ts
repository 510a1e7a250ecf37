import {
  type Claim,
  type ClaimStore,
  convergeLeaseMs,
  createClaimStore,
  type MembershipClaimOrder,
} from '../../src/converge/claim-store.ts';
import { convergeMembership } from '../../src/converge/converge-membership.ts';
import type { SettledResult } from '../../src/converge/converge-result.ts';
import { usualSecondLookMs as secondLookMs } from '../../src/converge/converge-steps.ts';
import { createConvergeWorker } from '../../src/converge/converge-worker.ts';
import { createResetStore } from '../../src/converge/reset-store.ts';
import { createResetting } from '../../src/converge/reset-worker.ts';
import { createSettleStore, type SettleStore } from '../../src/converge/settle-store.ts';
import { createToolTroubleStore } from '../../src/converge/tool-trouble-store.ts';
import type { Database } from '../../src/db/database.ts';
import { createLockStore } from '../../src/db/lock-store.ts';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import type { Loop } from '../../src/lib/loop.ts';
import type { Engine } from './engine-harness.ts';
import { fullEvent } from './event-bodies.ts';
import type { MemoryTool } from './memory-tool.ts';
import { until } from './until.ts';

export function openClaims(engine: Engine, database: Database = engine.database): ClaimStore {
  return createClaimStore(database, engine.box);
}

/** Leases what is due in the tool `studio`, as a worker of that name would. */
export async function claimDue(
  engine: Engine,
  {
    claims = openClaims(engine),
    token = 'worker',
    limit = 100,
    exclusiveBy = [] as MembershipClaimOrder['exclusiveBy'],
    makesLogins = false,
  } = {},
): Promise<Claim[]> {
  const { clock } = engine;
  const now = toInstant(clock.now());
  const order = { tool: 'studio', token, limit, now, leasedUntil: instantIn(clock, convergeLeaseMs) };
  const claimed: Claim[] = [];
  for (const install of await claims.installsDue('studio', now)) {
    claimed.push(...(await claims.claim({ ...order, install, exclusiveBy, makesLogins })));
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
  claims?: ClaimStore;
  settling?: SettleStore;
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
    claims = openClaims(engine),
    settling = createSettleStore(engine.database, engine.box, engine.rules.routeLink),
    protectedAccounts = [],
    timeoutMs = 5000,
    mayChangeAccounts = true,
    signal,
  }: Converging = {},
): Promise<SettledResult | null> {
  const { clock, managedDomains, alerts } = engine;
  const deps = {
    claims,
    settling,
    adapter: tool.adapter,
    timeoutMs,
    clock,
    alerts,
    secondLookMs,
    protectedAccounts,
    managedDomains,
    mayChangeAccounts: () => mayChangeAccounts,
  };
  return await convergeMembership(deps, claim, signal ?? new AbortController().signal);
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
  { adapter }: Pick<MemoryTool, 'adapter'>,
  { resets = createResetStore(engine.database, engine.box), signal = new AbortController().signal } = {},
): Promise<void> {
  const { logger, clock, onMembershipDue } = engine;
  const deps = { tool: 'studio', adapter, resets, timeoutMs: 5000, logger, clock };
  await createResetting({ ...deps, onMembershipDue })(signal);
}

/** The real worker of the tool `studio`, over a database of its own where one is given. */
export function createStudioWorker(
  engine: Engine,
  tool: MemoryTool,
  {
    database = engine.database,
    locks = createLockStore(database),
    claims = openClaims(engine, database),
    concurrency = 8,
    isShared = false,
    timeoutMs = 5000,
  } = {},
): Loop {
  const { metrics, logger, clock, alerts, managedDomains } = engine;
  return createConvergeWorker({
    tool: 'studio',
    adapter: tool.adapter,
    concurrency,
    isShared: () => isShared,
    timeoutMs,
    claims,
    settling: createSettleStore(database, engine.box, engine.rules.routeLink),
    locks,
    troubles: createToolTroubleStore(database),
    metrics,
    logger,
    clock,
    alerts,
    managedDomains,
    protectedAccounts: [],
    mayChangeAccounts: () => true,
    secondLookMs,
  });
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
