import { z } from 'zod';
import type { Context } from '../context.ts';
import { toAppError } from '../domain/errors.ts';
import { exitStatusOf, outcomeOfRun } from '../domain/run.ts';
import { describeCause, removalCauses } from '../domain/standing.ts';
import { maskText } from '../lib/mask.ts';
import { nameEach } from '../memberships/membership-list-store.ts';
import { checkOrphans, findOrphans } from '../memberships/orphan-store.ts';
import { type PreviewedChange, previewInstall } from '../reconcile/runs/preview-install.ts';
import { openPlanOf } from '../reconcile/runs/run-store.ts';
import { trainerColumns } from './access.ts';
import { act, type Call, group, type OperationContext, read } from './operation.ts';
import { pickInstalls, sayFailures } from './pick-installs.ts';
import { followRuns, patienceOf, Reconciled, reconcileNow } from './reconcile-now.ts';
import { type Columns, fieldColumns, numberColumns, table } from './show.ts';
import { formatList } from './text-table.ts';
import { maybeInstant, maybeText, ofInstall, waiting } from './values.ts';

/** Readings of installs that an operator starts, and what follows from them in the tools. */

const columns: Columns<Reconciled> = [
  ...fieldColumns('install', 'outcome'),
  ...numberColumns('added', 'removed', 'held', 'failed'),
  ['plan', ({ plan }) => plan, { to: ({ plan }) => `/plans/${plan}` }],
];

const Change = z.object({
  change: z.enum(['add', 'waiting', 'remove', 'held', 'later']),
  tool: z.string(),
  groupId: z.string(),
  trainerId: z.string(),
  displayName: maybeText.describe('If an earlier reading had it.'),
  cause: z.enum(removalCauses).nullable(),
  at: maybeInstant.describe('For a removal that waits: the earliest time.'),
});

type Change = z.output<typeof Change>;

const Previewed = Reconciled.extend({ changes: z.array(Change) }).meta({ id: 'PreviewedInstall' });

const signs = { add: '+', waiting: '?', remove: '-', held: '-', later: '-' };

const changeColumns: Columns<Change & { install: string }> = [
  ['', ({ change }) => signs[change]],
  ...fieldColumns('install', 'tool'),
  ['group', ({ groupId }) => groupId],
  ...trainerColumns,
  ['reason', ({ cause }) => (cause === null ? '' : describeCause(cause))],
  ['', sayWhen],
];

function sayWhen({ change, at }: Change): string {
  if (change === 'waiting') return 'once their address is known';
  if (change === 'held') return 'the brake would hold it';
  return change === 'later' ? `not before ${at}` : '';
}

const ends = {
  problems: ({ installs }: { installs: Reconciled[] }) => sayFailures(installs),
  status: ({ installs }: { installs: Reconciled[] }) => exitStatusOf(installs.map((one) => one.outcome)),
};

const whenEmpty = 'There are no installs.';

export const operations = group('reconcile', {
  now: act('POST /reconcile', 'Read installs from the marketplace now, and bring the tools in sync', {
    asks: 'tools',
    in: z.strictObject({ install: ofInstall, wait: waiting }),
    out: z.object({ installs: z.array(Reconciled) }),
    run: async ({ install, wait }, ctx, call) => ({
      installs: await reconcileInstalls(ctx, call, pickInstalls(ctx, install).sort(), wait),
    }),
    show: table(columns, whenEmpty, 'installs'),
    ...ends,
  }),
  preview: read('GET /reconcile/preview', 'Show what reconciling now would change; nothing is changed', {
    role: 'operator',
    asks: 'tools',
    in: z.strictObject({ install: ofInstall }),
    out: z.object({ installs: z.array(Previewed) }),
    run: async ({ install }, ctx, { signal, onProgress }) => ({
      installs: await previewAll(ctx, pickInstalls(ctx, install).sort(), signal, onProgress),
    }),
    show({ installs }) {
      const changes = installs.flatMap(({ install, changes: of }) => of.map((change) => ({ install, ...change })));
      const shown = formatList(changes, changeColumns, 'Nothing would change.');
      return `${shown}\n\n${formatList(installs, columns, whenEmpty)}`;
    },
    ...ends,
  }),
});

/** In an instance, its own loops read and this only waits. */
export async function reconcileInstalls(
  ctx: OperationContext,
  call: Call,
  installs: readonly string[],
  wait: string,
): Promise<Reconciled[]> {
  const patience = patienceOf(call, wait);
  return call.loops.length === 0
    ? await followRuns(ctx, call.by, installs, patience)
    : await reconcileNow(ctx, installs, patience);
}

/**
 * What reconciling these installs would do. Changes nothing.
 *
 * @throws AppError `conflict` if reconciling would throw it
 */
export async function previewAll(
  ctx: Context,
  installs: readonly string[],
  signal: AbortSignal,
  onProgress: (says: string) => void,
) {
  // `checkOrphans` writes, so it is called only when it is going to throw.
  if ((await findOrphans(ctx, ctx.routeLink)).length > 0) await checkOrphans(ctx, false);
  const previewed: z.input<typeof Previewed>[] = [];
  for (const install of installs) {
    onProgress(`${previewed.length} of ${installs.length} installs read`);
    previewed.push(await preview(ctx, install, signal));
  }
  return previewed;
}

async function preview(ctx: Context, install: string, signal: AbortSignal): Promise<z.input<typeof Previewed>> {
  const nothing = { install, plan: null, added: 0, removed: 0, held: 0, failed: 0, changes: [] };
  try {
    const { changes: found, held, failed } = await previewInstall(ctx, install, signal);
    const changes = await nameEach(ctx, found);
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
