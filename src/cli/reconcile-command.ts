import { Command } from 'commander';
import type { Services } from '../app/services.ts';
import { exitStatusOf } from '../domain/run.ts';
import { describeCause } from '../domain/standing.ts';
import { maskText } from '../lib/mask.ts';
import { type Previewed, type PreviewedChange, previewAll } from '../operator/preview-all.ts';
import { type Reconciled, reconcileNow } from '../operator/reconcile-now.ts';
import { print } from './command-context.ts';
import { waitOption } from './duration-option.ts';
import { endWith } from './ending.ts';
import { pickInstall } from './pick-install.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { createProgress, withWorks } from './with-works.ts';

interface ReconcileOptions {
  install?: string;
  dryRun?: true;
  wait: number;
  json?: true;
}

/** `gangway reconcile`: reads the marketplace, and does what follows from it. */
export function createReconcileCommand(terminal: Terminal): Command {
  return new Command('reconcile')
    .description('read every install from the marketplace, and bring the tools in line with it')
    .option('--install <name>', 'only this one')
    .option('--dry-run', 'say what would be done, and change nothing')
    .addOption(waitOption('for how long at most to wait until it is done'))
    .option('--json', 'print one JSON object instead of a table')
    .addHelpText(
      'after',
      `
Exit status: 0 clean or applied, 1 failed or unfinished, 2 changes pending (dry run),
3 held by the brake, 64 used wrongly. A dry run ends as the run would, but for 2 where
that would apply something. It lists groups and looks for nobody by name: what another
hand has done already, and whom a tool refuses from now on, only the run finds out.`,
    )
    .action((options: ReconcileOptions, command: Command) =>
      withWorks(terminal, command, options.dryRun === true, async (works) => {
        const all = [...works.installs.keys()];
        const { install } = options;
        const chosen = install === undefined ? all : [pickInstall(command, works.installs, install)];
        if (options.dryRun) await preview(terminal, works, chosen, options);
        else await reconcile(terminal, works, chosen, options);
      }),
    );
}

async function reconcile(
  terminal: Terminal,
  works: Services,
  chosen: string[],
  { wait: waitMs, json }: ReconcileOptions,
): Promise<void> {
  const patience = { waitMs, signal: terminal.signal, onProgress: createProgress(terminal) };
  const reconciled = await reconcileNow(works, chosen, patience);
  report(terminal, json, reconciled, () => toTable(reconciled));
}

async function preview(
  terminal: Terminal,
  works: Services,
  chosen: string[],
  { json }: ReconcileOptions,
): Promise<void> {
  const previewed = await previewAll(works, chosen, terminal.signal, createProgress(terminal));
  report(terminal, json, previewed, () => toDiff(previewed));
}

function report(terminal: Terminal, json: true | undefined, installs: Reconciled[], toText: () => string): void {
  const shown = installs.map(({ failure: _, ...one }) => one);
  print(terminal, json, { installs: shown }, toText);
  for (const { install, failure } of installs) {
    if (failure !== null) terminal.stderr.write(`gangway: ${install}: ${maskText(failure)}\n`);
  }
  endWith(exitStatusOf(installs.map(({ outcome }) => outcome)));
}

const numbers = ['added', 'removed', 'held', 'failed'] as const;

function toTable(installs: Reconciled[]): string {
  if (installs.length === 0) return 'There are no installs.';
  const right = (title: string) => ({ title, align: 'right' as const });
  return formatTable(
    ['install', 'outcome', ...numbers.map(right), 'plan'],
    installs.map((one) => [one.install, one.outcome, ...numbers.map((name) => one[name]), one.plan ?? '']),
  );
}

const signs = { add: '+', waiting: '?', remove: '-', held: '-', later: '-' };

function toDiff(installs: Previewed[]): string {
  const changes = installs.flatMap(({ install, changes: of }) => of.map((change) => ({ install, ...change })));
  const rows = changes.map((change) => [
    signs[change.change],
    change.install,
    change.tool,
    change.groupId,
    change.trainerId,
    change.cause === null ? '' : describeCause(change.cause),
    remarkOn(change),
  ]);
  const diff =
    rows.length === 0
      ? 'Nothing would change.'
      : formatTable(['', 'install', 'tool', 'group', 'trainer', 'because', ''], rows);
  return `${diff}\n\n${toTable(installs)}`;
}

function remarkOn({ change, at }: PreviewedChange): string {
  if (change === 'waiting') return 'once their address is known';
  if (change === 'held') return 'the brake would hold it';
  return change === 'later' ? `not before ${at}` : '';
}
