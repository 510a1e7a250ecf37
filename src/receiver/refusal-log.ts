import type { Logger } from '../lib/logger.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Quiet } from '../lib/quiet.ts';
import type { RefusalReason } from './verify-signature.ts';

/** Reports why requests are refused. A stranger cannot fill the disk with it. */
export interface RefusalLog {
  /** @param install empty for an unknown install, because a stranger chose its name */
  report(install: string, reason: RefusalReason): void;
}

interface RefusalLogDeps {
  metrics: Metrics;
  logger: Logger;
  quiet: Quiet;
  /** Called when no secret made a signature, at most once a minute for each known install. */
  onUnmatched(install: string): void;
}

const hints: Record<RefusalReason, string> = {
  missing: 'no signature header came: is something else calling, or a proxy dropping headers?',
  malformed: 'the signature header is not t=<seconds>,v1=<hex>: is a proxy rewriting headers?',
  too_old: 'the signature is over 300 s old: is this clock ahead, or a proxy holding requests back?',
  too_new: 'the signature is over 300 s in the future: is this clock behind?',
  no_secret_matched:
    'no configured secret made the signature: was the endpoint re-created, or is a proxy changing the body?',
};

/** One line a minute for each install and reason, with the number of requests that it stands for. */
export function createRefusalLog(deps: RefusalLogDeps): RefusalLog {
  const { metrics, logger, quiet, onUnmatched } = deps;
  return {
    report(install, reason) {
      metrics.refusals.inc({ install, reason });
      const alsoRefused = quiet.letThrough(`refused ${install} ${reason}`);
      if (alsoRefused === null) return;
      const hint = hints[reason];
      const subject = { install: install || '(unknown)', reason, hint, alsoRefused };
      logger.warn(subject, 'A request was refused');
      if (reason === 'no_secret_matched' && install !== '') onUnmatched(install);
    },
  };
}
