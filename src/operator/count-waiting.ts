import { listUndelivered } from '../converge/handover-store.ts';
import type { Storage } from '../keys/storage.ts';
import { listPlans } from '../removals/plan-store.ts';

/** What waits for a person: removals on hold, and invitations that nobody has sent on. */
export async function countWaiting(ctx: Storage): Promise<{ removals: number; invitations: number }> {
  const plans = await listPlans(ctx, { state: 'open' });
  // Whom mail reaches makes no difference here.
  const invitations = await listUndelivered(ctx.database.kysely, []);
  return { removals: plans.reduce((sum, { size }) => sum + size, 0), invitations: invitations.length };
}
