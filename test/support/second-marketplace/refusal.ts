const statusOf = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  INTERNAL_ERROR: 500,
} as const;

type Code = keyof typeof statusOf;

/** An answer that is an error, in the envelope of the specification. */
export class Refusal extends Error {
  readonly code: Code;
  readonly status: number;

  constructor(code: Code, message: string) {
    super(message);
    this.code = code;
    this.status = statusOf[code];
  }
}

/** @throws Refusal `NOT_FOUND` */
export function orNotFound<T>(found: T | undefined, what: string): T {
  if (found === undefined) throw new Refusal('NOT_FOUND', `${what} not found`);
  return found;
}

/** @throws Refusal `BAD_REQUEST` */
export function demand(isGiven: boolean, message: string): asserts isGiven {
  if (!isGiven) throw new Refusal('BAD_REQUEST', message);
}
