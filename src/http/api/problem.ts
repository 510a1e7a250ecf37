import { z } from 'zod';
import { AppError, type ErrorCode, httpStatusOf, toAppError } from '../../domain/errors.ts';
import { badRequestStatusOf } from '../../lib/http-server.ts';
import { maskText } from '../../lib/mask.ts';

export type Problem = z.infer<typeof Problem>;
export const Problem = z
  .object({
    type: z.string().describe('A URI reference that names the kind of problem.'),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().describe('For a person. It contains no secret, address or body.'),
    code: z.string().describe('For a program.'),
  })
  .meta({ id: 'Problem', description: 'Problem details (RFC 9457).' });

/** The codes that only the API has, and the HTTP status of each. */
const ownStatuses = { key_reused: 422, unprocessable: 422, refused_elsewhere: 424 };

type OwnCode = keyof typeof ownStatuses;

const titles: Record<ErrorCode | OwnCode, string> = {
  invalid: 'The request is not valid',
  unauthenticated: 'A token is required',
  forbidden: 'This is not allowed',
  not_found: 'Not found',
  method_not_allowed: 'This method is not allowed here',
  conflict: 'This conflicts with the current state',
  too_large: 'The request is too large',
  unsupported_media_type: 'The request must be JSON',
  rate_limited: 'Too many attempts',
  unavailable: 'This cannot be done now',
  internal: 'Something went wrong',
  refused_elsewhere: 'The marketplace or a tool refused it',
  unprocessable: 'The request is well-formed, but it cannot be carried out',
  key_reused: 'The idempotency key was used for another request',
};

/** The titles of the problems that are answered with each HTTP status. */
export const titlesByStatus = new Map(
  [...Map.groupBy(Object.keys(titles) as (keyof typeof titles)[], statusOf)].map(([status, codes]) => [
    status,
    codes.map((code) => titles[code]),
  ]),
);

/** A refusal that only the API makes. */
export class Refusal extends Error {
  readonly code: OwnCode;

  constructor(code: OwnCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * An error that an operation throws after its request was found valid. That the marketplace or a tool refused it says
 * nothing about the caller's token, and that it cannot be carried out does not make the request malformed.
 */
export function ofOperation(thrown: unknown): unknown {
  if (!(thrown instanceof AppError)) return thrown;
  const { code, message } = thrown;
  if (code === 'invalid') return new Refusal('unprocessable', message);
  const isRefused = code === 'unauthenticated' || code === 'forbidden' || code === 'rate_limited';
  return isRefused ? new Refusal('refused_elsewhere', message) : thrown;
}

/** An error of Express is for example about an address that it cannot decode. */
export function toApiError(thrown: unknown): AppError | Refusal {
  if (thrown instanceof Refusal) return thrown;
  const status = badRequestStatusOf(thrown);
  if (status === undefined) return toAppError(thrown);
  if (status === 413) return new AppError('too_large', 'The body is too large', { cause: thrown });
  return new AppError('invalid', 'The request could not be read', { cause: thrown });
}

/** Only the log has the message of an unexpected error. */
export function toProblem({ code, message }: AppError | Refusal): Problem {
  const detail = code === 'internal' ? 'See the log for the cause' : maskText(message);
  return { type: `urn:gangway:problem:${code}`, title: titles[code], status: statusOf(code), detail, code };
}

function statusOf(code: ErrorCode | OwnCode): number {
  return code in ownStatuses ? ownStatuses[code as OwnCode] : httpStatusOf(code as ErrorCode);
}
