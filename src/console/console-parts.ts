import type { Operator } from './operator.ts';
import type { ConsoleTokens } from './sign-in/console-tokens.ts';
import type { RefusedTokens } from './sign-in/refused-tokens.ts';
import type { SignInLimit } from './sign-in/sign-in-limit.ts';

/** Who may use the console and the API, and how often a token may be tried. */
export interface SharedWithApi {
  tokens: ConsoleTokens;
  limit: SignInLimit;
  refused: RefusedTokens;
  /** Who may read without a token; only where a console on loopback is tried out. */
  alwaysSignedIn: Operator | undefined;
}
