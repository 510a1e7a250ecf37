import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { listWorkScopes } from './find-scopes.ts';
import { readingMs, readNextScope } from './read-scope.ts';
import { countDueScopes, keepScopes, wantScopes } from './scope-store.ts';
import { listUnreadMembers } from './total-store.ts';

/** How often the worker looks for scopes that were never read, and for new members. */
const discoverEveryMs = 60_000;

/** Reads every scope of a tool that is due, and new scopes at once. */
export function createReadUsageWorker(ctx: Context, tool: string): Loop {
  const { logger, clock } = ctx;
  let discoveredAt = Number.NEGATIVE_INFINITY;
  /** The memberships for which a scope was read at once. */
  const welcomed = new Set<number>();
  /** Soon after a new member came in their total is small: the longer it takes, the more of it is held. */
  async function wantNewMembers(now: string): Promise<void> {
    const unread = await listUnreadMembers(ctx, tool);
    const scopes = unread.filter(({ membershipId }) => !welcomed.has(membershipId));
    if (scopes.length > 0) await inTransaction(ctx.database, (tx) => wantScopes(tx, scopes, now));
    for (const { membershipId } of unread) welcomed.add(membershipId);
  }
  return createLoop({
    name: `read-usage ${tool}`,
    pollMs: ctx.pollMs,
    logger,
    clock,
    // One reading, and the merging after it.
    stallMs: 2 * readingMs,
    async run(signal) {
      const now = clock.now();
      if (now.getTime() - discoveredAt >= discoverEveryMs) {
        const all = [...(await listWorkScopes(ctx)).values()];
        await keepScopes(
          ctx,
          all.filter((workScope) => workScope.tool === tool),
          toInstant(now),
        );
        await wantNewMembers(toInstant(now));
        discoveredAt = now.getTime();
      }
      if ((await countDueScopes(ctx, toInstant(now), { tool })) === 0) return 'idle';
      return (await readNextScope(ctx, signal, tool)) ? 'more' : 'idle';
    },
  });
}
