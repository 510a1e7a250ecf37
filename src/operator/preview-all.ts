import { toAppError } from '../domain/errors.ts';
import { outcomeOfRun } from '../domain/run.ts';
import { toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import {
  type PreviewDeps,
  type PreviewedChange,
  previewInstall,
} from '../reconcile/preview-install.ts';
import { createPreviewStore } from '../reconcile/preview-store.ts';
import type { Reconciled } from './reconcile-now.ts';

export type { PreviewedChange };

/** What reconciling would come to; the numbers say what would be done. */
export interface Previewed extends Reconciled {
  changes: PreviewedChange[];
}

type PreviewAllDeps = Omit<PreviewDeps, 'previews'>;

/** Says what reconciling these installs would do, one after the other. Changes nothing. */
export async function previewAll(
  given: PreviewAllDeps,
  installs: readonly string[],
  signal: AbortSignal,
  onProgress: (says: string) => void,
): Promise<Previewed[]> {
  const deps = { ...given, previews: createPreviewStore(given.database) };
  const previewed: Previewed[] = [];
  for (const install of installs) {
    onProgress(`${previewed.length} of ${installs.length} installs are read`);
    previewed.push(await preview(deps, install, signal));
  }
  return previewed;
}

async function preview(
  deps: PreviewDeps,
  install: string,
  signal: AbortSignal,
): Promise<Previewed> {
  const now = toInstant(deps.clock.now());
  const afterReceipt = await deps.runs.lastReceipt();
  const { plan, held, failed } = await deps.runs.count(
    install,
    { at: now, afterReceipt },
    now,
    now,
  );
  const nothing = { install, plan, added: 0, removed: 0, held, failed, changes: [] };
  try {
    const changes = await previewInstall(deps, install, signal);
    const count = (...kinds: PreviewedChange['change'][]) =>
      changes.filter(({ change }) => kinds.includes(change)).length;
    const wouldBeHeld = count('held');
    const numbers = { added: count('add'), removed: count('remove'), held: held + wouldBeHeld };
    const isPending = numbers.added + numbers.removed + wouldBeHeld > 0;
    const standing = outcomeOfRun({ added: 0, removed: 0, held, failed }, 0);
    const outcome = isPending ? 'pending' : standing;
    return { ...nothing, ...numbers, outcome, changes, failure: null };
  } catch (error) {
    return { ...nothing, outcome: 'failed', failure: maskText(toAppError(error).message) };
  }
}
