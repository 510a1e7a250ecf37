import { setTimeout as wait } from 'node:timers/promises';
import type { Response } from 'express';
import { AppError } from '../../domain/errors.ts';
import type { FaultDice, FaultTarget } from './fault-dice.ts';

/** The faults of calls that have a valid token. This runs before the operation, so a refused call changes nothing. */
export async function meetCall(dice: FaultDice, call: FaultTarget, response: Response): Promise<void> {
  const slowness = dice.strike('slow', call);
  if (slowness !== undefined) await holdUp(response, slowness.ms);
  refuse(dice, call);
}

/** This runs after the operation, so the call has taken effect even if its answer is broken. */
export function sendAnswer(
  dice: FaultDice,
  call: FaultTarget,
  response: Response,
  status: number,
  answer: object,
): void {
  response.status(status);
  if (dice.strike('notJson', call) !== undefined) response.type('html').send(webPage);
  else if (dice.strike('cutOff', call) !== undefined) breakOff(response, answer);
  else response.json(shorten(dice, call, answer));
}

/** The answer of a proxy between the platform and the marketplace. */
const webPage = '<!doctype html><title>One moment</title><p>The service will be back shortly.</p>\n';

/** Waits for `ms`, or until the caller closes the connection. */
async function holdUp(response: Response, ms: number): Promise<void> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  response.once('close', leave);
  await wait(ms, undefined, { signal: gone.signal }).catch(() => {});
  response.off('close', leave);
}

function refuse(dice: FaultDice, call: FaultTarget): void {
  const rateLimit = dice.strike('rateLimited', call);
  if (rateLimit !== undefined) {
    const retryAfterMs = (rateLimit.retryAfterSeconds ?? 1) * 1000;
    throw new AppError('rate_limited', 'Too many requests', { retryAfterMs });
  }
  if (dice.strike('serverError', call) !== undefined) {
    const isDown = dice.throwFor(call, 'serverError which') < 0.5;
    if (isDown) throw new AppError('unavailable', 'The service is unavailable');
    throw new AppError('internal', 'Something went wrong');
  }
  for (const [code, message] of refusals) {
    if (dice.strike(code, call) !== undefined) throw new AppError(code, message);
  }
}

const refusals = [
  ['unauthenticated', 'The token is unknown or was revoked'],
  ['forbidden', 'The install of this token is not ACTIVE'],
] as const;

/** The answer is shorter than its Content-Length. */
function breakOff(response: Response, answer: object): void {
  const bytes = Buffer.from(JSON.stringify(answer));
  response.type('json').set('Content-Length', String(bytes.length));
  response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy());
}

/** Changes nothing if no list in the answer has entries. */
function shorten(dice: FaultDice, call: FaultTarget, answer: object): object {
  const list = Object.entries(answer).find(([, value]) => Array.isArray(value) && value.length > 0);
  if (list === undefined) return answer;
  const [name, entries] = list as [string, unknown[]];
  if (dice.strike('empty', call) !== undefined) return { ...answer, [name]: [] };
  if (dice.strike('truncated', call) === undefined) return answer;
  return { ...answer, [name]: entries.slice(0, Math.floor(entries.length / 2)) };
}
