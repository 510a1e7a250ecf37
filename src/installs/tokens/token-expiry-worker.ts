import type { Context } from '../../context.ts';
import { toAppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { rotateFrom } from './plan-rotation.ts';

const intervalMs = 3_600_000;

/**
 * Asks the marketplace once an hour when each token expires, and raises an alert for those that expire soon. Writes to
 * the database must not wake it.
 */
export function createTokenExpiryWorker(ctx: Context): Loop {
  const { sources, logger, clock } = ctx;
  return createLoop({
    name: 'token_expiry',
    intervalMs,
    logger,
    clock,
    async run(signal, beat) {
      for (const install of sources.keys()) {
        beat();
        await checkExpiry(ctx, install, signal).catch((error: unknown) => {
          if (signal.aborted) throw error;
          logger.warn({ err: toAppError(error), install }, 'The expiry of a token could not be read');
        });
      }
      return 'idle';
    },
  });
}

export async function checkExpiry(
  { sources, alerts, clock }: Context,
  install: string,
  signal: AbortSignal,
): Promise<void> {
  const source = sources.get(install);
  if (source?.listTokens === undefined) return;
  const { token } = await source.readGrant(signal);
  const used = (await source.listTokens(signal)).find(({ id }) => id === token?.id);
  const from = (used && rotateFrom(used)) ?? null;
  const expiring = from === null || toInstant(clock.now()) < from ? [] : [{ install, expiresAt: used?.expiresAt }];
  for (const fields of expiring) alerts.raise('token_expires', fields);
  alerts.observe('token_expires', { install }, expiring);
}
