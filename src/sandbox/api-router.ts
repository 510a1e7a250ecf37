import { randomUUID } from 'node:crypto';
import express, { type RequestHandler, type Router } from 'express';
import { Refusal, requestIdHeader } from './error-response.ts';
import { meetCall, sendAnswer } from './faults/api-faults.ts';
import type { FaultTarget } from './faults/fault-dice.ts';
import type { Marketplace } from './marketplace.ts';
import type { RecordSchema, RequestSchema } from './platform-request-schema.ts';

export type Operation = `${'GET' | 'POST' | 'PATCH' | 'DELETE'} /${string}`;

/** An operation as it is served, and as `openapi.json` describes it. */
export interface ApiRoute<Caller extends ApiCaller> {
  /** Such as `GET /contracts/{id}/budget`, below the base address. */
  operation: Operation;
  /** One of these is needed. Without scopes, any valid token is enough. */
  scopes?: readonly string[];
  query?: RecordSchema;
  body?: RequestSchema<unknown>;
  /** Otherwise a body is required if the operation has one. */
  isBodyOptional?: true;
  answer: RecordSchema;
  /** The answer of a list in a marketplace with cursors. Without cursors, the query has no `cursor`. */
  page?: RecordSchema;
  /** The answer if a person must confirm first, which is sent with 202. */
  accepted?: RecordSchema;
  /** 200 by default. */
  status?: 201;
  /** Refusals that follow neither from the path nor from the schemas. */
  refusals?: readonly number[];
  /** @throws AppError */
  run(call: ApiCall & Caller): object;
}

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

/** `write` includes `read` of the same family. */
export function isGranted(scopes: readonly string[], scope: string): boolean {
  return scopes.some((held) => held === scope || held.replace(/:write$/, ':read') === scope);
}

export function requireScope(granted: readonly string[], required: readonly string[] | undefined): void {
  if (required === undefined || required.some((scope) => isGranted(granted, scope))) return;
  const details = { requiredScopes: required, grantedScopes: granted };
  throw new Refusal('forbidden', `The token lacks the scope ${required.join(' or ')}`, details);
}

export interface Api<Caller extends ApiCaller, Route extends ApiRoute<Caller>> {
  routes: readonly Route[];
  /** @throws AppError if the token is not valid, or not enough for this route */
  admit(marketplace: Marketplace, authorization: string | undefined, route: Route): Caller;
  describe(hasCursors: boolean): object;
}

export function createApiRouter<Caller extends ApiCaller, Route extends ApiRoute<Caller>>(
  marketplace: Marketplace,
  { routes, admit, describe }: Api<Caller, Route>,
): Router {
  const { dice, options } = marketplace;
  const router = express.Router();
  router.use(nameRequest);
  router.get('/openapi.json', (_request, response) => {
    response.json(describe(options.cursors === true));
  });
  for (const route of routes) {
    /** Before the body is read, so that a caller without the right learns nothing about the body. */
    const meet: RequestHandler = async ({ headers }, response, next) => {
      const caller = admit(marketplace, headers.authorization, route);
      const target = dice.nameCall(caller.ownerId, route.operation);
      await meetCall(dice, target, response);
      Object.assign(response.locals, { caller, target });
      next();
    };
    const answer: RequestHandler = ({ params, query, body }, response) => {
      const { caller, target } = response.locals as { caller: Caller; target: FaultTarget };
      const named = { id: String(params['id'] ?? ''), number: String(params['number'] ?? '') };
      const answered = route.run({ marketplace, ...caller, ...named, query, body });
      const isAccepted = route.accepted?.safeParse(answered).success === true;
      sendAnswer(dice, target, response, isAccepted ? 202 : (route.status ?? 200), answered);
    };
    const { method, path } = splitOperation(route.operation);
    router[method](path.replaceAll(/\{(\w+)\}/g, ':$1'), meet, readJson, answer);
  }
  return router;
}

export function splitOperation(operation: Operation): { method: 'get' | 'post' | 'patch' | 'delete'; path: string } {
  const [method = '', path = ''] = operation.split(' ');
  return { method: method.toLowerCase() as 'get', path };
}

/** The id to quote to support, which is also in the body of errors. */
const nameRequest: RequestHandler = (_request, response, next) => {
  response.setHeader(requestIdHeader, `req_${randomUUID()}`);
  next();
};

/** Every body is read as JSON, whatever its content type. */
const readJson: RequestHandler = express.json({ type: () => true, strict: false, limit: '1mb' });
