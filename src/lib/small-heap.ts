import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Has the engine collect garbage early instead of growing with the machine's memory: for a command
 * that runs beside others and is in no hurry. Costs some of its processor time.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size');
}

/**
 * Where a long file streams through, V8 sets aside ever more for values that are hardly in use: it
 * would rather take memory than time. From now on what is short-lived gets no more room than it has,
 * and the function that is returned, called now and then, clears what nobody needs (some tens of
 * milliseconds each time). For a process that does one such thing and ends; Node has no better way.
 */
export function openHeapClearing(): () => void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
