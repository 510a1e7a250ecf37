import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { soleJob } from '../../jobs/job.ts';
import { toInstant } from '../../lib/clock.ts';
import { remembered } from '../../lib/remembered.ts';
import { listWorkScopes } from './find-scopes.ts';
import { keepScopes, wantScopes } from './scope-store.ts';
import { listUnreadMembers } from './total-store.ts';

const minuteMs = 60_000;

/** Finds scopes that were never read, and new members, whose work is read at once. */
export const workSweepJob = soleJob('work sweep', async (ctx) => {
  const now = toInstant(ctx.clock.now());
  await keepScopes(ctx, [...(await listWorkScopes(ctx)).values()], now);
  for (const [tool, { readUsage }] of ctx.adapters) if (readUsage !== undefined) await wantNewMembers(ctx, tool, now);
  return minuteMs;
});

/** Soon after a new member came in their total is small: the longer it takes, the more of it is held. */
async function wantNewMembers(ctx: Context, tool: string, now: string): Promise<void> {
  // For each a scope is read at once, and no second time where it does not show their work.
  const welcomed = remembered(ctx.database, 'welcomed members', () => new Set<number>());
  const unread = await listUnreadMembers(ctx, tool);
  const scopes = unread.filter(({ membershipId }) => !welcomed.has(membershipId));
  if (scopes.length > 0) await inTransaction(ctx.database, (tx) => wantScopes(tx, scopes, now));
  for (const { membershipId } of unread) welcomed.add(membershipId);
}
