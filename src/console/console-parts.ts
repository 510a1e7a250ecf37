import type { Context } from '../context.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import type { Channel } from '../notify/channel.ts';
import type { Approvals } from '../operator/approvals.ts';
import type { Check } from '../operator/doctor-checks.ts';
import type { Operator } from './operator.ts';
import type { ConsoleTokens } from './sign-in/console-tokens.ts';
import type { RefusedTokens } from './sign-in/refused-tokens.ts';
import type { SignInLimit } from './sign-in/sign-in-limit.ts';

/** What was found when an operator asked, kept by this instance until the next one asks. */
export interface Report {
  by: string;
  at: string;
  checks: readonly Check[];
}

/** What the pages and the operations of the API read from and act with. */
export interface ConsoleParts extends Context {
  /** To load has the loops follow what has changed. */
  registry: InstallRegistry;
  /** Where notifications are sent. */
  channels: readonly Channel[];
  /** Looks at everything, as `gangway doctor` does. */
  examine(signal: AbortSignal): Promise<Check[]>;
  /** Plans that are being approved, and lately were. */
  approvals: Approvals;
  /** By what was asked. */
  reports: Map<string, Report>;
}

/** Who may use the console and the API, and how often a token may be tried. */
export interface SharedWithApi {
  tokens: ConsoleTokens;
  limit: SignInLimit;
  refused: RefusedTokens;
  /** Who may read without a token; only where a console on loopback is tried out. */
  alwaysSignedIn: Operator | undefined;
}
