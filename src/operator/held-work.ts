import type { Context } from '../context.ts';
import { listDays } from '../usage/due/due-store.ts';
import { explainDay } from '../usage/due/explain-day.ts';
import { findHeld, type HeldFilter, type HeldRow, listHeld } from '../usage/due/held-store.ts';
import { type LateDay, type Lowering, listLate, listLowerings } from '../usage/due/list-late.ts';
import { refreshDue } from '../usage/due/refresh-due.ts';
import { findReported } from '../usage/report/ledger-store.ts';

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

export async function findHeldWork(ctx: Context, id: string): Promise<ListedHeld | undefined> {
  await refreshDue(ctx);
  const found = await findHeld(ctx.database.kysely, id);
  return found && toListed(found);
}

export function toListed({ work: _, ...listed }: HeldRow): ListedHeld {
  return listed;
}

/** A day that changed after it was sent for the last time. */
export interface LateChange extends LateDay {
  isDismissed: boolean;
}

/** @param id as `listLate` names the day */
export async function findLate(ctx: Context, id: string): Promise<LateChange | undefined> {
  await refreshDue(ctx);
  const reported = await findReported(ctx.database.kysely, id);
  if (reported === undefined) return undefined;
  const { install, contractId, trainerId, day, answered: from } = reported;
  for await (const days of listDays(ctx, { install, contractIds: [contractId], from: day, to: day })) {
    for (const { due, ledger } of days) {
      if (due?.trainerId !== trainerId) continue;
      const why = explainDay(due, ledger, ctx.clock.now());
      if (why !== 'late' && why !== 'dismissed') return undefined;
      return { install, contractId, trainerId, day, id, from, to: due.counts, isDismissed: why === 'dismissed' };
    }
  }
  return undefined;
}
