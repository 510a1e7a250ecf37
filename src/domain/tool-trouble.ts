import type { ErrorCode } from './errors.ts';
import type { Instant } from './evidence.ts';

/** A tool that fails its check and is therefore left alone. Every process can see this. */
export interface ToolTrouble {
  tool: string;
  errorCode: ErrorCode;
  /** The adapter's message. It contains no secret and no address. */
  message: string;
  since: Instant;
  asksAgainAt: Instant;
}

/** If the process that left the tool alone has not asked again by then, it is gone. */
const lateMs = 5 * 60_000;

/** Whether a process still leaves the tool alone. Pure. */
export function isTroubleCurrent({ asksAgainAt }: ToolTrouble, now: Date): boolean {
  return now.getTime() < Date.parse(asksAgainAt) + lateMs;
}

/** What is wrong. The text goes behind the tool's name. Pure. */
export function describeToolTrouble({ errorCode, since }: ToolTrouble): string {
  return `${words[errorCode] ?? 'fails its check'} since ${since}`;
}

const words: Partial<Record<ErrorCode, string>> = {
  unauthenticated: 'refuses its token',
  forbidden: 'refuses its token',
  rate_limited: 'asks to be left alone, after too many requests,',
  unavailable: 'does not answer as it should',
};

/** What an operator can do about it. Pure. */
export function adviseOnTrouble({ tool, errorCode, asksAgainAt }: ToolTrouble): string {
  const again = `it is asked again by itself at ${asksAgainAt}`;
  if (errorCode === 'unauthenticated' || errorCode === 'forbidden') {
    return `give tools.${tool} a token that is good, and restart; ${again}`;
  }
  if (errorCode === 'rate_limited') return `lower tools.${tool}.concurrency if it lasts; ${again}`;
  return `see that it runs, and that tools.${tool} leads to it (gangway doctor); ${again}`;
}
