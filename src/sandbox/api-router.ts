import { randomUUID } from 'node:crypto';
import express, { type RequestHandler, type Router } from 'express';
import { type ApiCaller, type ApiRoute, operationOf } from './api-route.ts';
import { requestIdHeader } from './error-response.ts';
import { meetCall, sendAnswer } from './faults/api-faults.ts';
import type { FaultTarget } from './faults/fault-dice.ts';
import type { Marketplace } from './marketplace.ts';

export interface Api<Caller extends ApiCaller, Route extends ApiRoute<Caller>> {
  routes: readonly Route[];
  /** @throws AppError if the token is not valid, or not enough for this route */
  admit(marketplace: Marketplace, authorization: string | undefined, route: Route): Caller;
  /** What `/openapi.json` answers. */
  describe(hasCursors: boolean): object;
}

/** What the first handler of a call leaves to the second. */
interface Admitted<Caller> {
  caller: Caller;
  target: FaultTarget;
}

export function createApiRouter<Caller extends ApiCaller, Route extends ApiRoute<Caller>>(
  marketplace: Marketplace,
  { routes, admit, describe }: Api<Caller, Route>,
): Router {
  const { dice, hasCursors } = marketplace;
  const router = express.Router();
  router.use(nameRequest);
  router.get('/openapi.json', (_request, response) => {
    response.json(describe(hasCursors));
  });
  for (const route of routes) {
    /** This comes before the body is read: a caller without the right to call learns nothing about the body. */
    const meet: RequestHandler = async ({ headers }, response, next) => {
      const caller = admit(marketplace, headers.authorization, route);
      const target = dice.nameCall(caller.ownerId, operationOf(route));
      await meetCall(dice, target, response);
      Object.assign(response.locals, { caller, target } satisfies Admitted<Caller>);
      next();
    };
    const answer: RequestHandler = ({ params, query, body }, response) => {
      const { caller, target } = response.locals as Admitted<Caller>;
      const named = { id: String(params['id'] ?? ''), number: String(params['number'] ?? '') };
      const answered = route.run({ marketplace, ...caller, ...named, query, body });
      const isAccepted = route.accepted?.safeParse(answered).success === true;
      sendAnswer(dice, target, response, isAccepted ? 202 : (route.status ?? 200), answered);
    };
    router[route.method](route.path.replaceAll(/\{(\w+)\}/g, ':$1'), meet, readJson, answer);
  }
  return router;
}

/** The id to quote to support. Errors have it in their body too. */
const nameRequest: RequestHandler = (_request, response, next) => {
  response.setHeader(requestIdHeader, `req_${randomUUID()}`);
  next();
};

/** Every body is read as JSON, whatever its type. */
const readJson: RequestHandler = express.json({ type: () => true, strict: false, limit: '1mb' });
