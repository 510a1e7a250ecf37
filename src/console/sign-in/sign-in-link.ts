import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { isSameText } from './console-tokens.ts';

/** Signs in who started Gangway, once, for ten minutes. The code is in the memory of this process alone. */
export interface SignInLink {
  /** The end of its address: `/sign-in/<code>`. */
  code: string;
  /** Whether it is the code, still valid. It is not from then on. */
  use(given: string): boolean;
}

const lastsMs = 10 * 60_000;

export function createSignInLink(clock: Clock): SignInLink {
  const code = randomBytes(32).toString('base64url');
  const until = clock.now().getTime() + lastsMs;
  let isUsed = false;
  return {
    code,
    use(given) {
      if (!isSameText(given, code) || isUsed || clock.now().getTime() >= until) return false;
      isUsed = true;
      return true;
    },
  };
}
