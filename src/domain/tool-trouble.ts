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
export function sayToolProblem({ errorCode }: Pick<ToolTrouble, 'errorCode'>): string {
  return problems[errorCode] ?? 'fails its check';
}

const problems: Partial<Record<ErrorCode, string>> = {
  unauthenticated: 'refuses its token',
  forbidden: 'refuses its token',
  rate_limited: 'asks for fewer requests',
  unavailable: 'is not answering',
};

/** The same with its time. Pure. */
export function describeToolTrouble(trouble: ToolTrouble): string {
  return `${sayToolProblem(trouble)} (since ${trouble.since})`;
}

export const notListed = 'The tool says it added the member but does not list them';

/** Of a removal where nothing in the tool shows who is in the group. */
export function sayUnproven(tool: string): string {
  return `${unprovenRemoval}, but ${tool} does not show who is in the group, so the trainer may still be in. Remove the trainer in ${tool}, and let the token read who is in a group`;
}

const unprovenRemoval = 'Unproven: the removal was requested';

/** Whether a membership waits because the tool does not show who is in a group. */
export function isOfHiddenMembers(failure: string | null): boolean {
  return failure === notListed || failure?.startsWith(unprovenRemoval) === true;
}
