import { exitStatusOf } from '../domain/run.ts';
import { describeCause } from '../domain/standing.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import { type Previewed, type PreviewedChange, previewAll } from '../operator/preview-all.ts';
import { type Reconciled, reconcileNow } from '../operator/reconcile-now.ts';
import type { Printed } from './define-command.ts';
import { pickInstalls } from './pick-install.ts';
import type { ServicesSession } from './session.ts';
import { createProgress, toPatience } from './terminal.ts';

export interface ReconcileOptions {
  install: string | undefined;
  dryRun: boolean;
  wait: number;
}

/** `gangway reconcile`: reads the marketplace, and changes the tools accordingly. */
export async function runReconcile(
  { install, dryRun, wait }: ReconcileOptions,
  session: ServicesSession,
): Promise<Printed> {
  const { services, terminal } = session;
  const chosen = pickInstalls(session, services.installs, install);
  if (dryRun) {
    return printPreviewed(await previewAll(services, chosen, terminal.signal, createProgress(terminal)));
  }
  const patience = toPatience(terminal, services.loops, wait);
  return printReconciled(await reconcileNow(services, services.clock, chosen, patience));
}

export function printPreviewed(previewed: readonly Previewed[]): Printed {
  return toReport(previewed, () => toDiff(previewed));
}

export function printReconciled(reconciled: readonly Reconciled[]): Printed {
  return toReport(reconciled, () => toTable(reconciled));
}

function toReport(installs: readonly Reconciled[], text: () => string): Printed {
  return {
    data: { installs: installs.map(({ failure: _, ...one }) => one) },
    text,
    problems: installs.flatMap(({ install, failure }) => (failure === null ? [] : [`${install}: ${failure}`])),
    status: exitStatusOf(installs.map(({ outcome }) => outcome)),
  };
}

function toTable(installs: readonly Reconciled[]): string {
  return formatList(installs, columns, 'There are no installs.');
}

const columns: Columns<Reconciled> = [
  ['install', ({ install }) => install],
  ['outcome', ({ outcome }) => outcome],
  ['added', ({ added }) => added, { align: 'right' }],
  ['removed', ({ removed }) => removed, { align: 'right' }],
  ['held', ({ held }) => held, { align: 'right' }],
  ['failed', ({ failed }) => failed, { align: 'right' }],
  ['plan', ({ plan }) => plan],
];

const signs = { add: '+', waiting: '?', remove: '-', held: '-', later: '-' };

function toDiff(installs: readonly Previewed[]): string {
  const changes = installs.flatMap(({ install, changes: of }) => of.map((change) => ({ install, ...change })));
  return `${formatList(changes, changeColumns, 'Nothing would change.')}\n\n${toTable(installs)}`;
}

const changeColumns: Columns<PreviewedChange & { install: string }> = [
  ['', ({ change }) => signs[change]],
  ['install', ({ install }) => install],
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['trainer', ({ trainerId }) => trainerId],
  ['because', ({ cause }) => (cause === null ? '' : describeCause(cause))],
  ['', remarkOn],
];

function remarkOn({ change, at }: PreviewedChange): string {
  if (change === 'waiting') return 'once their address is known';
  if (change === 'held') return 'the brake would hold it';
  return change === 'later' ? `not before ${at}` : '';
}
