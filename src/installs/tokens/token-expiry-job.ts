import type { Context } from '../../context.ts';
import type { JobKind } from '../../jobs/job.ts';
import { toInstant } from '../../lib/clock.ts';
import { rotateFrom } from './plan-rotation.ts';

const hourMs = 3_600_000;

/** Asks the marketplace when a token expires, and raises an alert if it expires soon. */
export const tokenExpiryJob: JobKind = {
  name: 'token expiry',
  atOnce: 4,
  leaseMs: 2 * 60_000,
  isStanding: true,
  installs: ({ sources }) => [...sources].flatMap(([install, one]) => (one.listTokens === undefined ? [] : [install])),
  async run(ctx, { install }, signal) {
    await checkExpiry(ctx, install, signal);
    return hourMs;
  },
};

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
