import type { Context } from '../context.ts';
import { toAppError } from '../domain/errors.ts';
import { outcomeOfRun } from '../domain/run.ts';
import { maskText } from '../lib/mask.ts';
import { checkOrphans } from '../memberships/check-orphans.ts';
import { findOrphans } from '../memberships/find-orphans.ts';
import { type PreviewedChange, previewInstall } from '../reconcile/runs/preview-install.ts';
import { openPlanOf } from '../reconcile/runs/run-store.ts';
import type { Reconciled } from './reconcile-now.ts';

export type { PreviewedChange };

/** What reconciling would do, as counts. */
export interface Previewed extends Reconciled {
  changes: PreviewedChange[];
}

/**
 * Says what reconciling these installs would do, one after the other. Changes nothing.
 *
 * @throws AppError `conflict` where reconciling would
 */
export async function previewAll(
  ctx: Context,
  installs: readonly string[],
  signal: AbortSignal,
  onProgress: (says: string) => void,
): Promise<Previewed[]> {
  // It reports problems itself, and so writes nothing.
  if ((await findOrphans(ctx, ctx.config, ctx.routeLink)).length > 0) await checkOrphans(ctx, false);
  const previewed: Previewed[] = [];
  for (const install of installs) {
    onProgress(`${previewed.length} of ${installs.length} installs are read`);
    previewed.push(await preview(ctx, install, signal));
  }
  return previewed;
}

async function preview(ctx: Context, install: string, signal: AbortSignal): Promise<Previewed> {
  const nothing = { install, plan: null, added: 0, removed: 0, held: 0, failed: 0, changes: [] };
  try {
    const { changes, held, failed } = await previewInstall(ctx, install, signal);
    const count = (kind: PreviewedChange['change']) => changes.filter(({ change }) => change === kind).length;
    const numbers = { added: count('add'), removed: count('remove'), held, failed };
    const outcome = outcomeOfRun(numbers, 0);
    return {
      ...nothing,
      ...numbers,
      changes,
      failure: null,
      plan: await openPlanOf(ctx, install),
      outcome: outcome === 'applied' ? 'pending' : outcome,
    };
  } catch (error) {
    return { ...nothing, outcome: 'failed', failure: maskText(toAppError(error).message) };
  }
}
