import { toAppError } from '../../domain/errors.ts';
import type { Alerts } from '../../lib/alerts.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop, type Polling } from '../../lib/loop.ts';
import { maskText } from '../../lib/mask.ts';
import type { Source } from '../../sources/source.ts';
import { maxActiveTokens, type TokenRecord } from '../../sources/token-record.ts';
import { rotateFrom } from './plan-rotation.ts';
import { type RotateDeps, resumeRotation, rotateToken } from './rotate-token.ts';

export interface TokenWorkerDeps extends RotateDeps, Polling {
  /** By the name of the install. The Map always has what was loaded last. */
  sources: ReadonlyMap<string, Pick<Source, 'readGrant' | 'listTokens'>>;
  alerts: Alerts;
}

const lookEveryMs = 3_600_000;
/** After a look or a rotation that failed, or while another token of the account is rotated. */
const lookAgainMs = 5 * 60_000;
/** A rotation, up to where the new token counts, with its retries. */
const stallMs = 10 * 60_000;

/** Goes on with rotations that are under way, and rotates the tokens that expire soon. */
export function createTokenWorker(deps: TokenWorkerDeps): Loop {
  const { rotations, registry, logger, clock } = deps;
  const nextLookAt = new Map<string, string>();

  async function resume(signal: AbortSignal): Promise<void> {
    for (const grantId of await rotations.listDue(toInstant(clock.now()))) {
      await resumeRotation(deps, grantId, signal).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: toAppError(error) }, 'A token could not be rotated yet');
      });
    }
  }

  async function lookAt(install: string, signal: AbortSignal): Promise<void> {
    try {
      nextLookAt.set(install, await lookAtToken(deps, install, signal));
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ err: toAppError(error), install }, 'The tokens of the account could not be looked at');
      nextLookAt.set(install, instantIn(clock, lookAgainMs));
    }
  }

  return createLoop({
    name: 'tokens',
    pollMs: deps.pollMs,
    logger,
    clock,
    stallMs,
    async run(signal, beat) {
      await resume(signal);
      const now = toInstant(clock.now());
      for (const install of registry.installs.keys()) {
        if (signal.aborted || (nextLookAt.get(install) ?? '') > now) continue;
        beat();
        await lookAt(install, signal);
      }
      return 'idle';
    },
  });
}

/**
 * Rotates the token of an install if it is time, and says what is in the way of that.
 *
 * @returns when to look again
 */
export async function lookAtToken(deps: TokenWorkerDeps, install: string, signal: AbortSignal): Promise<string> {
  const { sources, alerts, clock, rotations } = deps;
  const source = sources.get(install);
  const [nextLook, soon] = [instantIn(clock, lookEveryMs), instantIn(clock, lookAgainMs)];
  if (source?.listTokens === undefined) return nextLook;
  const grant = await source.readGrant(signal);
  const tokens = await source.listTokens(signal);
  observeCount(alerts, install, tokens);
  const used = tokens.find(({ id }) => id === grant.token?.id);
  const from = (used && rotateFrom(used)) ?? null;
  if (from === null || toInstant(clock.now()) < from) {
    alerts.observe('token_expires', { install }, []);
    return from !== null && from < nextLook ? from : nextLook;
  }
  if ((await rotations.find(grant.id)) !== undefined) return soon;
  const failure = await rotate(deps, install, signal);
  if (failure === null || signal.aborted) return soon;
  const fields = { install, expiresAt: used?.expiresAt, reason: failure };
  alerts.raise('token_expires', fields, 'The token of an install expires soon, and could not be rotated');
  return soon;
}

/** No operator has asked for less, so the new one may do what the old one may. @returns why it could not be made */
async function rotate(deps: TokenWorkerDeps, install: string, signal: AbortSignal): Promise<string | null> {
  try {
    const by = { actor: 'gangway', at: toInstant(deps.clock.now()), origin: 'expiry' };
    await rotateToken(deps, install, { keep: 'all', by }, signal);
    return null;
  } catch (error) {
    return maskText(toAppError(error).message);
  }
}

function observeCount(alerts: Alerts, install: string, tokens: readonly TokenRecord[]): void {
  const active = tokens.filter(({ status }) => status === 'active').length;
  const full = active < maxActiveTokens ? [] : [{ install, active }];
  for (const fields of full) {
    alerts.raise('tokens_full', fields, 'An account has as many tokens as it may have: none can be rotated');
  }
  alerts.observe('tokens_full', { install }, full);
}
