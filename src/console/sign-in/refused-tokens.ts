import type { Logger, Quiet } from '../../lib/logger.ts';
import type { Metrics } from '../../lib/metrics.ts';

export type RefusedTokens = ReturnType<typeof createRefusedTokens>;

/** It never has the token: it may be right elsewhere. */
export interface RefusedToken {
  where: 'console' | 'api' | 'metrics';
  reason: 'missing' | 'wrong' | 'too_many_tries';
  address: string | undefined;
}

/** Reports tokens that are refused, so that guessing is seen. A stranger cannot fill the disk with it. */
export function createRefusedTokens(metrics: Metrics, logger: Logger, quiet: Quiet) {
  return {
    /** One line a minute for each of both, with the address that it came from last. */
    report({ where, reason, address }: RefusedToken): void {
      metrics.tokenRefusals.inc({ where, reason });
      const alsoRefused = quiet.letThrough(`token ${where} ${reason}`);
      if (alsoRefused !== null) logger.warn({ where, reason, address, alsoRefused }, 'A token was refused');
    },
  };
}
