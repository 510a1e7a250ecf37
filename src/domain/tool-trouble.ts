import type { ErrorCode } from './errors.ts';
import type { Instant } from './evidence.ts';

/** A tool that fails its check, so that it is left alone, as any process can see it. */
export interface ToolTrouble {
  tool: string;
  errorCode: ErrorCode;
  /** Of the adapter; nothing secret in it, and no address. */
  message: string;
  since: Instant;
  asksAgainAt: Instant;
}

/** Whoever left it alone is gone when it has not even asked by then. */
const lateMs = 5 * 60_000;

/** Pure: whether anybody leaves the tool alone still. */
export function isTroubleCurrent({ asksAgainAt }: ToolTrouble, now: Date): boolean {
  return now.getTime() < Date.parse(asksAgainAt) + lateMs;
}

/** Pure: what is the matter, to go behind the tool's name. */
export function describeToolTrouble({ errorCode, since }: ToolTrouble): string {
  return `${words[errorCode] ?? 'fails its check'} since ${since}`;
}

const words: Partial<Record<ErrorCode, string>> = {
  unauthenticated: 'refuses its token',
  forbidden: 'refuses its token',
  rate_limited: 'asks to be left alone, after too many requests,',
  unavailable: 'does not answer as it should',
};

/** Pure: what is to be done about it. */
export function adviseOnTrouble({ tool, errorCode, asksAgainAt }: ToolTrouble): string {
  const again = `it is asked again by itself at ${asksAgainAt}`;
  if (errorCode === 'unauthenticated' || errorCode === 'forbidden') {
    return `give tools.${tool} a token that is good, and restart; ${again}`;
  }
  if (errorCode === 'rate_limited') return `lower tools.${tool}.concurrency if it lasts; ${again}`;
  return `see that it runs, and that tools.${tool} leads to it (gangway doctor); ${again}`;
}
