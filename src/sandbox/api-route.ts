import { Refusal } from './error-response.ts';
import type { Marketplace } from './marketplace.ts';
import type { AnswerSchema, QuerySchema, RequestSchema } from './platform-request-schema.ts';

/** One operation of an API, as it is served and as `openapi.json` describes it. */
export interface ApiRoute<Caller extends ApiCaller> {
  method: 'get' | 'post' | 'patch' | 'delete';
  /** Below the base address, with `{id}` for an id. */
  path: string;
  /** One of these is needed; any valid token is enough without. */
  scopes?: readonly string[];
  operationId?: string;
  summary?: string;
  query?: QuerySchema;
  body?: RequestSchema<unknown>;
  /** Without it the body is required, where there is one. */
  isBodyOptional?: true;
  answer: AnswerSchema;
  /** The answer of a list in a marketplace with cursors. Without cursors its query has no `cursor`. */
  page?: AnswerSchema;
  /** The answer where a person must confirm it first, which is sent with 202. */
  accepted?: AnswerSchema;
  /** 200 by default. */
  status?: 201;
  /** The statuses of refusals that neither its path nor its schemas say. */
  refusals?: readonly number[];
  /** @throws AppError */
  run(call: ApiCall & Caller): object;
}

/** Whose token it is. */
export interface ApiCaller {
  /** The install or the account. */
  ownerId: string;
  /** The scopes of the token. */
  scopes: readonly string[];
}

/** A call whose token and scope are valid. */
export interface ApiCall {
  marketplace: Marketplace;
  /** The `{id}` of the path; empty if it has none. */
  id: string;
  /** The `{number}` of the path; empty if it has none. */
  number: string;
  query: unknown;
  body: unknown;
}

/** Such as `GET /contracts/{id}/budget`. */
export function operationOf({ method, path }: { method: string; path: string }): string {
  return `${method.toUpperCase()} ${path}`;
}

/** `write` includes `read` of the same family. */
export function isGranted(scopes: readonly string[], scope: string): boolean {
  return scopes.some((held) => held === scope || held.replace(/:write$/, ':read') === scope);
}

export function requireScope(granted: readonly string[], required: readonly string[] | undefined): void {
  if (required === undefined || required.some((scope) => isGranted(granted, scope))) return;
  const details = { requiredScopes: required, grantedScopes: granted };
  throw new Refusal('forbidden', `The token lacks the scope ${required.join(' or ')}`, details);
}
