import type { ErrorCode } from './errors.ts';
import type { Instant } from './evidence.ts';

/** A tool that fails its check, so that every process leaves it alone. */
export interface ToolTrouble {
  tool: string;
  errorCode: ErrorCode;
  /** The adapter's message. It contains no secret and no address. */
  message: string;
  since: Instant;
  asksAgainAt: Instant;
}

/** How late a process may ask the tool again. A later one has died. */
const lateMs = 5 * 60_000;

/** Whether a process still leaves the tool alone. Pure. */
export function isTroubleCurrent({ asksAgainAt }: ToolTrouble, now: Date): boolean {
  return now.getTime() < Date.parse(asksAgainAt) + lateMs;
}

/** What is wrong, as the rest of a sentence that begins with the tool's name. */
export function sayToolProblem({ errorCode }: Pick<ToolTrouble, 'errorCode'>): string {
  return problems[errorCode] ?? 'fails its check';
}

const problems: Partial<Record<ErrorCode, string>> = {
  unauthenticated: 'refuses its token',
  forbidden: 'refuses its token',
  rate_limited: 'asks for fewer requests',
  unavailable: 'is not answering',
};

/** The same, with its time. */
export function describeToolTrouble(trouble: ToolTrouble): string {
  return `${sayToolProblem(trouble)} (since ${trouble.since})`;
}

export const notListed = 'The tool says it added the member but does not list them';

/** For a removal in a tool that does not show who is in the group. */
export function sayUnproven(tool: string): string {
  return `${unprovenRemoval}, but ${tool} does not show who is in the group, so the trainer may still be in. Remove the trainer in ${tool}, and let the token read who is in a group`;
}

const unprovenRemoval = 'Unproven: the removal was requested';

/** Whether the failure of a membership is that the tool does not show who is in the group. */
export function isOfHiddenMembers(failure: string | null): boolean {
  return failure === notListed || failure?.startsWith(unprovenRemoval) === true;
}
