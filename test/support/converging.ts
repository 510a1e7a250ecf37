import type { Database } from '../../src/db/database.ts';
import { createLockStore } from '../../src/db/lock-store.ts';
import {
  type Claim,
  type ClaimStore,
  createClaimStore,
  type Result,
} from '../../src/engine/claim-store.ts';
import { convergeMembership, leaseMs } from '../../src/engine/converge-membership.ts';
import { createConvergeWorker } from '../../src/engine/converge-worker.ts';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import type { Loop } from '../../src/lib/loop.ts';
import type { Engine } from './engine-harness.ts';
import type { MemoryTool } from './memory-tool.ts';

export function openClaims(engine: Engine, database: Database = engine.database): ClaimStore {
  return createClaimStore(database, engine.box);
}

/** Leases what is due in the tool `studio`, as a worker of that name would. */
export async function claimDue(
  engine: Engine,
  { claims = openClaims(engine), token = 'worker', limit = 100 } = {},
): Promise<Claim[]> {
  const { clock } = engine;
  const times = { now: toInstant(clock.now()), leasedUntil: instantIn(clock, leaseMs) };
  return await claims.claim({ tool: 'studio', token, limit, ...times });
}

export interface Converging {
  claims?: ClaimStore;
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Brings one claimed membership in line. */
export async function converge(
  engine: Engine,
  tool: MemoryTool,
  claim: Claim,
  { claims = openClaims(engine), timeoutMs = 5000, signal }: Converging = {},
): Promise<Result | null> {
  const deps = { claims, adapter: tool.adapter, timeoutMs, clock: engine.clock };
  return await convergeMembership(deps, claim, signal ?? new AbortController().signal);
}

/** Brings everything in line that is due now, one after the other. */
export async function convergeDue(
  engine: Engine,
  tool: MemoryTool,
  options: Converging = {},
): Promise<string[]> {
  const outcomes: string[] = [];
  for (const claim of await claimDue(engine)) {
    const result = await converge(engine, tool, claim, options);
    outcomes.push(result === null ? 'put back' : `${result.operation} ${result.outcome}`);
  }
  return outcomes;
}

/** The real worker of the tool `studio`, over a database of its own where one is given. */
export function createStudioWorker(
  engine: Engine,
  tool: MemoryTool,
  { database = engine.database, locks = createLockStore(database), concurrency = 8 } = {},
): Loop {
  const { metrics, logger, clock } = engine;
  return createConvergeWorker({
    ...{ tool: 'studio', adapter: tool.adapter, concurrency, timeoutMs: 5000 },
    ...{ claims: openClaims(engine, database), locks },
    ...{ metrics, logger, clock },
  });
}

/** `operation outcome` of every receipt, oldest first. */
export async function receiptsOf(engine: Engine): Promise<string[]> {
  const receipts = engine.database.kysely.selectFrom('receipt').selectAll().orderBy('id');
  return (await receipts.execute()).map(({ operation, outcome }) => `${operation} ${outcome}`);
}
