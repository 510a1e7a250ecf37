import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { countDueResets } from '../converge/reset-store.ts';
import { inTransaction } from '../db/database.ts';
import { emptyEvidence } from '../domain/evidence.ts';
import { applyEvidence } from '../evidence/apply-evidence.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import type { Loop } from '../lib/loop.ts';
import { sayCount } from '../lib/say-count.ts';
import { hasPostponed } from '../memberships/derivation-store.ts';
import { lockEvidence } from '../memberships/lock-evidence.ts';
import { countRunWork, type RunWork, type Since } from '../reconcile/runs/run-store.ts';

export interface Patience {
  /** The brake and the converge workers: they run while it is waited. */
  loops: readonly Loop[];
  /** How long to wait at most until nothing is left. */
  waitMs: number;
  signal: AbortSignal;
  onProgress(says: string): void;
}

const lookEveryMs = 100;
/** Looking takes at most this part of the time: to count very many rows takes longer than that. */
const lookingPart = 0.1;

/**
 * Runs the brake and the converge workers, as a running bridge would and beside one, until nothing of these installs
 * is due or the patience is over.
 *
 * @returns what was done for each since then, and what is left
 */
export async function doWork(
  ctx: Context,
  installs: readonly string[],
  since: Since,
  patience: Patience,
): Promise<Map<string, RunWork>> {
  const leftOf = ({ work, resets }: { work: Map<string, RunWork>; resets: number }) => countLeft(work) + resets;
  const { work } = await workUntil(ctx, patience, leftOf, async (until) => {
    await deriveAll(ctx, patience.signal);
    const resets = await countDueResets(ctx, resettingTools(ctx), toInstant(ctx.clock.now()));
    return { work: await countWork(ctx, installs, since, until), resets };
  });
  return work;
}

/**
 * The same, for what the caller counts.
 *
 * @param count gets the time until which another try counts as left
 */
export async function workUntil<T>(
  ctx: Context,
  { loops, waitMs, signal, onProgress }: Patience,
  leftOf: (counted: T) => number,
  count: (until: string) => Promise<T>,
): Promise<T> {
  const { clock } = ctx;
  const deadline = clock.now().getTime() + waitMs;
  const until = instantIn(clock, waitMs);
  const isOver = () => signal.aborted || clock.now().getTime() >= deadline;
  let work = await count(until);
  if (leftOf(work) === 0 || isOver()) return work;
  for (const loop of loops) loop.start();
  try {
    let restMs = lookEveryMs;
    while (leftOf(work) > 0 && !isOver()) {
      await wait(restMs, undefined, { signal }).catch(() => undefined);
      const begunAt = performance.now();
      work = await count(until);
      restMs = Math.max(lookEveryMs, (performance.now() - begunAt) / lookingPart);
      onProgress(`${sayCount(leftOf(work), 'membership')} left to sync`);
    }
  } finally {
    await Promise.all(loops.map((loop) => loop.stop()));
  }
  return leftOf(work) === 0 ? work : await count(until);
}

/** The tools whose shared invitation links are made worthless when trainers were removed. */
function resettingTools({ adapters }: Context): string[] {
  return [...adapters].flatMap(([tool, { resetInvitations }]) => (resetInvitations ? [tool] : []));
}

/** What did not fit into one transaction. */
async function deriveAll(ctx: Context, signal: AbortSignal): Promise<void> {
  const { database, clock } = ctx;
  while (!signal.aborted && (await hasPostponed(ctx))) {
    await inTransaction(database, async (tx) => {
      await lockEvidence(ctx, tx);
      await applyEvidence(ctx, tx, emptyEvidence(), toInstant(clock.now()));
    });
  }
}

async function countWork(
  ctx: Context,
  installs: readonly string[],
  since: Since,
  until: string,
): Promise<Map<string, RunWork>> {
  const now = toInstant(ctx.clock.now());
  const counted = new Map<string, RunWork>();
  for (const install of installs) {
    counted.set(install, await countRunWork(ctx, install, since, now, until));
  }
  return counted;
}

function countLeft(work: Map<string, RunWork>): number {
  return [...work.values()].reduce((sum, { left }) => sum + left, 0);
}
