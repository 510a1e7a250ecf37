const statusOf = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  ATTACHMENT_UNAVAILABLE: 409,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
} as const;

type Code = keyof typeof statusOf;

/** An answer that is an error, in the envelope of the specification. */
export class Refusal extends Error {
  readonly code: Code;
  readonly status: number;
  readonly details: object | undefined;

  constructor(code: Code, message: string, details?: object) {
    super(message);
    this.code = code;
    this.status = statusOf[code];
    this.details = details;
  }
}

/** @throws Refusal `NOT_FOUND` */
export function orNotFound<T>(found: T | undefined, what: string, details?: object): T {
  if (found === undefined) throw new Refusal('NOT_FOUND', `${what} not found`, details);
  return found;
}

/** @throws Refusal `BAD_REQUEST` */
export function demand(isGiven: boolean, message: string, details?: object): asserts isGiven {
  if (!isGiven) throw new Refusal('BAD_REQUEST', message, details);
}
