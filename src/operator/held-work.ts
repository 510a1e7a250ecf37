import type { Context } from '../context.ts';
import { type HeldFilter, type HeldRow, listHeld } from '../usage/due/held-store.ts';
import { type LateDay, type Lowering, listLate, listLowerings } from '../usage/due/list-late.ts';
import { refreshDue } from '../usage/due/refresh-due.ts';

/** Held work as it is listed: `id` names it. */
export type ListedHeld = Omit<HeldRow, 'work'>;

/** What an operator has to decide about, or has decided about. */
export interface HeldList {
  held: ListedHeld[];
  /** Days that changed after they were sent for the last time. */
  late: LateDay[];
  lowerings: Lowering[];
}

/** @param isDecided whether to list what operators discarded and assigned, instead of what waits for them */
export async function listHeldWork(ctx: Context, isDecided = false): Promise<HeldList> {
  await refreshDue(ctx);
  if (isDecided) {
    const discarded = await listHeldRows(ctx, { state: 'discarded' });
    return { held: [...discarded, ...(await listHeldRows(ctx, { state: 'assigned' }))], late: [], lowerings: [] };
  }
  const installs = [...ctx.installs.keys()];
  return {
    held: await listHeldRows(ctx, { state: 'held' }),
    late: await listLate(ctx, installs),
    lowerings: await listLowerings(ctx, installs),
  };
}

async function listHeldRows(ctx: Context, filter: HeldFilter): Promise<ListedHeld[]> {
  return (await listHeld(ctx, filter)).map(toListed);
}

export function toListed({ work: _, ...listed }: HeldRow): ListedHeld {
  return listed;
}
