import type { Logger } from '../../lib/logger.ts';
import type { Metrics } from '../../lib/metrics.ts';
import { type Doubts, doubtKinds } from './doubts.ts';

/** Tells an operator what a read left in doubt: in the log, and as numbers until the next read. */
export function reportRead(
  { metrics, logger }: { metrics: Pick<Metrics, 'readDoubts'>; logger: Logger },
  install: string,
  doubts: Doubts,
): void {
  for (const kind of doubtKinds) metrics.readDoubts.set({ install, kind }, doubts[kind]);
  const found = doubtKinds.filter((kind) => doubts[kind] > 0);
  if (found.length === 0) {
    logger.info({ install }, 'An install was read');
    return;
  }
  const counts = Object.fromEntries(found.map((kind) => [kind, doubts[kind]]));
  logger.warn(
    { install, ...counts },
    'An install was read, and not all of it was answered: nobody is removed by that alone',
  );
}
