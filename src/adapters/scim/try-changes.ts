import { AppError } from '../../domain/errors.ts';
import type { Resource } from './resource.ts';
import { statusOf } from './scim-api.ts';

/** One way to ask for a change, among several that different servers understand. */
export interface ChangeAttempt {
  send(current: Resource): Promise<void>;
  /** Does harm where an earlier way is understood: for servers that refused every earlier one. */
  isRisky?: boolean;
  /** Told how things stand after it, where it was accepted. */
  review?(before: Resource, after: Resource | null): Promise<void>;
}

export interface ChangeAttempts {
  attempts: readonly ChangeAttempt[];
  /** Null where it is gone. */
  read(): Promise<Resource | null>;
  isDone(current: Resource | null): boolean;
  /** For errors: "deactivated the account". */
  did: string;
}

/** What says that it was not understood, or may not be done so: nothing was changed. */
const refusals = [400, 404, 405, 409, 415, 422, 501];

/**
 * Tries one way after the other until the server shows that it is done: an answer of success proves
 * nothing, as servers accept what they then ignore.
 *
 * @throws AppError what the first way was refused with, where all were; `unavailable` where one was
 * accepted and nothing came of it
 */
export async function tryChanges(
  resource: Resource,
  { attempts, read, isDone, did }: ChangeAttempts,
): Promise<Resource | null> {
  let current = resource;
  let refusal: unknown;
  let wasAccepted = false;
  for (const attempt of attempts) {
    if (attempt.isRisky && wasAccepted) continue;
    const refused = await refusalOf(attempt.send(current));
    refusal ??= refused;
    if (refused !== undefined) continue;
    wasAccepted = true;
    const after = await read();
    await attempt.review?.(current, after);
    if (isDone(after)) return after;
    if (after === null) break;
    current = after;
  }
  if (!wasAccepted && refusal !== undefined) throw refusal;
  throw new AppError('unavailable', `The tool says it ${did} but does not show it`);
}

async function refusalOf(sending: Promise<void>): Promise<unknown> {
  try {
    await sending;
    return undefined;
  } catch (error) {
    if (refusals.includes(statusOf(error) ?? 0)) return error;
    throw error;
  }
}
