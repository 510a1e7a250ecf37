import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { isSameText } from './console-tokens.ts';

export type SignInLink = ReturnType<typeof createSignInLink>;

const lastsMs = 10 * 60_000;

/** Signs in who started Gangway, once, for ten minutes. The code is in the memory of this process alone. */
export function createSignInLink(clock: Clock) {
  const code = randomBytes(32).toString('base64url');
  const until = clock.now().getTime() + lastsMs;
  let isUsed = false;
  return {
    /** The end of its address: `/sign-in/<code>`. */
    code,
    /** Whether it is the code, still valid. It is not from then on. */
    use(given: string): boolean {
      if (!isSameText(given, code) || isUsed || clock.now().getTime() >= until) return false;
      isUsed = true;
      return true;
    },
  };
}
