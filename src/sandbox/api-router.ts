import { randomUUID } from 'node:crypto';
import express, { type RequestHandler, type Router } from 'express';
import { AppError } from '../domain/errors.ts';
import { Refusal, requestIdHeader } from './error-response.ts';
import { createApiFaults } from './faults/api-faults.ts';
import type { FaultDice } from './faults/fault-dice.ts';

/** What the two APIs of the marketplace have in common: who may call is asked first, then faults happen. */

/** One operation. */
export interface ApiRoute {
  method: 'get' | 'post' | 'patch' | 'delete';
  /** Below the base address, with names in braces, such as `/contracts/{id}`. */
  path: string;
}

export interface ApiRequest {
  /** What stands in the path for the names in braces. */
  params: Record<string, string>;
  query: unknown;
  body: unknown;
}

interface Api<Route extends ApiRoute, Caller extends { id: string }> {
  name: string;
  routes: readonly Route[];
  /** Answers `/openapi.json`, which needs no token. */
  describe?: () => object;
  /** @throws AppError if the caller has no right to call; faults happen to the caller by its id */
  admit: (route: Route, authorization: string | undefined) => Caller;
  /** @throws AppError */
  answer: (route: Route, caller: Caller, request: ApiRequest) => { status: number; body: object };
}

export function createApiRouter<Route extends ApiRoute, Caller extends { id: string }>(
  dice: FaultDice,
  { name, routes, describe, admit, answer }: Api<Route, Caller>,
): Router {
  const router = express.Router();
  const faults = createApiFaults(dice);
  router.use(nameRequest);
  if (describe !== undefined) router.get('/openapi.json', (_request, response) => void response.json(describe()));
  for (const route of routes) {
    const admitCaller: RequestHandler = (request, response, next) => {
      response.locals['caller'] = admit(route, request.headers.authorization);
      next();
    };
    const sendAnswer: RequestHandler = ({ params, query, body }, response) => {
      const texts = Object.fromEntries(Object.entries(params).map(([key, value]) => [key, String(value)]));
      const request = { params: texts, query, body };
      const answered = answer(route, response.locals['caller'] as Caller, request);
      faults.sendAnswer(response, answered.status, answered.body);
    };
    const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
    // The body is read last: a caller without the right to call learns nothing about it.
    router[route.method](path, admitCaller, faults.meetCalls(operationOf(route)), readJson, sendAnswer);
  }
  router.use(() => {
    throw new AppError('not_found', `The ${name} has no such operation`);
  });
  return router;
}

/** The id to quote to support. Errors have it in their body too. */
const nameRequest: RequestHandler = (_request, response, next) => {
  response.setHeader(requestIdHeader, `req_${randomUUID()}`);
  next();
};

/** Every body is read as JSON, whatever its type. */
const readJson = express.json({ type: () => true, strict: false, limit: '1mb' });

/** Such as `GET /contracts/{id}/budget`. */
export function operationOf({ method, path }: ApiRoute): string {
  return `${method.toUpperCase()} ${path}`;
}

/** A `write` scope includes `read` of the same family. */
export function covers(granted: readonly string[], scope: string): boolean {
  return granted.some(
    (held) => held === scope || (held.endsWith(':write') && held.replace(/write$/, 'read') === scope),
  );
}

/** @throws Refusal `forbidden` if none of the scopes is granted */
export function requireOneScope(granted: readonly string[], scopes: readonly string[]): void {
  if (scopes.some((scope) => covers(granted, scope))) return;
  const details = { requiredScopes: scopes, grantedScopes: granted };
  throw new Refusal('forbidden', `The token lacks the scope ${scopes.join(' or ')}`, details);
}

/** @throws AppError `unauthenticated` if it is not a bearer token with this prefix */
export function readBearer(authorization: string | undefined, prefix: string): string {
  const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1];
  if (token?.startsWith(prefix)) return token;
  throw new AppError('unauthenticated', `A bearer token that begins with ${prefix} is required`);
}
