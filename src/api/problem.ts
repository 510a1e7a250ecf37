import { z } from 'zod';
import { AppError, type ErrorCode, httpStatusOf, toAppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';

export type Problem = z.infer<typeof Problem>;
export const Problem = z
  .object({
    type: z.string().describe('A URI reference that names the kind of problem.'),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().describe('For a person. It has no secret, address or body.'),
    code: z.string().describe('For a program.'),
  })
  .meta({ id: 'Problem', description: 'Problem details (RFC 9457).' });

type ProblemCode = ErrorCode | 'key_reused' | 'refused_elsewhere' | 'unprocessable';

const titles: Record<ProblemCode, string> = {
  invalid: 'The request is not valid',
  unauthenticated: 'A token is needed',
  forbidden: 'This is not allowed',
  not_found: 'There is no such thing',
  method_not_allowed: 'This method is not allowed here',
  conflict: 'This does not fit what is there',
  too_large: 'The request is too large',
  unsupported_media_type: 'The request must be JSON',
  rate_limited: 'Too many tries',
  unavailable: 'This cannot be done now',
  internal: 'This did not work',
  refused_elsewhere: 'Another system refused it',
  unprocessable: 'The request is well-formed, and cannot be done',
  key_reused: 'The idempotency key belongs to another request',
};

/** A refusal that only the API makes. */
export class Refusal extends Error {
  readonly code: ProblemCode;
  readonly status: number;

  constructor(code: ProblemCode, status: number, message: string) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
    this.status = status;
  }
}

const refusals: ReadonlySet<ErrorCode> = new Set(['invalid', 'unauthenticated', 'forbidden', 'rate_limited']);

/**
 * What an operation refuses by itself, after the request was let in and found well-formed: what the marketplace or a
 * tool refused says nothing about the token of the caller, and what cannot be done says nothing against the document.
 */
export function ofOperation(thrown: unknown): unknown {
  if (!(thrown instanceof AppError) || !refusals.has(thrown.code)) return thrown;
  const isInvalid = thrown.code === 'invalid';
  return new Refusal(isInvalid ? 'unprocessable' : 'refused_elsewhere', isInvalid ? 422 : 424, thrown.message);
}

/** An unexpected error is answered without its message, which only the log has. Pure. */
export function toProblem(thrown: unknown): Problem {
  if (thrown instanceof Refusal) return problemOf(thrown.code, thrown.message, thrown.status);
  const { code, message } = isForeseen(thrown) ? thrown : new AppError('internal', 'The log says why');
  return problemOf(code, message, httpStatusOf(code));
}

/** Whether it is thrown on purpose, with a sentence for the caller. */
export function isForeseen(thrown: unknown): thrown is AppError {
  return thrown instanceof AppError && thrown.code !== 'internal';
}

/** Errors of Express itself have a status, for example for an address that it cannot decode. */
export function toApiError(thrown: unknown): unknown {
  if (thrown instanceof AppError || thrown instanceof Refusal) return thrown;
  const status = thrown instanceof Error && 'status' in thrown ? thrown.status : undefined;
  if (status === 413) return new AppError('too_large', 'The body is too large', { cause: thrown });
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new AppError('invalid', 'The request could not be read', { cause: thrown });
  }
  return toAppError(thrown);
}

function problemOf(code: ProblemCode, detail: string, status: number): Problem {
  return { type: `urn:gangway:problem:${code}`, title: titles[code], status, detail: maskText(detail), code };
}
