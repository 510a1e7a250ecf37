import { createHash, randomUUID } from 'node:crypto';
import express, { type RequestHandler, type Response, type Router } from 'express';
import { isGranted } from '../marketplace/contract/account.ts';
import { methodOf, type Operation, pathOf, type Received } from '../marketplace/contract/operation.ts';
import type { PersonalToken, SandboxAccount } from './employer/account.ts';
import { Refusal, requestIdHeader } from './error-response.ts';
import { meetCall, sendAnswer } from './faults/api-faults.ts';
import { type FaultTarget, nameOf } from './faults/fault-dice.ts';
import type { Marketplace } from './marketplace.ts';
import { parseRequest } from './parse-request.ts';
import type { SandboxInstall } from './sandbox-state.ts';

/** A call whose token, scope, feature and claim are valid. */
interface Call {
  marketplace: Marketplace;
  /** The scopes of the token. */
  scopes: readonly string[];
}
export interface InstallCall extends Call {
  install: SandboxInstall;
}
export interface AccountCall extends Call {
  account: SandboxAccount;
  token: PersonalToken;
}

/** A call without a token. */
export type AnyCall = Pick<Call, 'marketplace'>;

/** With what the caller sends to one operation. */
export type CallOf<One extends Operation, Caller = AccountCall> = Caller & { input: Received<One> };

/** What an operation of the contract does. */
export interface Route {
  operation: Operation;
  /** Refuses an address before the token is checked. */
  check?: Check | undefined;
  run(call: never): object;
}

type Check = (address: Record<string, unknown>) => void;
type Run<Caller, One extends Operation> = (call: CallOf<One, Caller>) => object;

function forCaller<Caller>() {
  return <One extends Operation>(operation: One, run: Run<Caller, One>, check?: Check): Route => ({
    operation,
    run,
    check,
  });
}

export const forInstall = forCaller<InstallCall>();
export const forAccount = forCaller<AccountCall>();
export const forAnyone = forCaller<AnyCall>();

/** The answer of an operation whose answer is no JSON. */
export class FileAnswer {
  readonly headers: Record<string, string>;
  readonly bytes: Uint8Array;

  constructor(headers: Record<string, string>, bytes: Uint8Array) {
    this.headers = headers;
    this.bytes = bytes;
  }
}

/** Who calls: an install, an account, or empty for anyone. */
export interface Admitted extends Call {
  ownerId: string;
}

/** @throws AppError if the token is not valid, or not enough for this operation */
type Admit = (marketplace: Marketplace, authorization: string | undefined, operation: Operation) => Admitted;

export function requireScopes(granted: readonly string[], { scopes }: Operation): void {
  const unmet = scopes.find((scope) => !scope.split('|').some((one) => isGranted(granted, one)));
  if (unmet === undefined) return;
  const requiredScopes = scopes.flatMap((scope) => scope.split('|'));
  const details = { requiredScopes, grantedScopes: granted };
  throw new Refusal('forbidden', `The token lacks the scope ${unmet.replaceAll('|', ' or ')}`, details);
}

export function createApiRouter(marketplace: Marketplace, routes: readonly Route[], admit: Admit): Router {
  const router = express.Router();
  router.use(nameRequest);
  // By path, so that `{` comes after every letter: a word of the path wins over a field.
  for (const route of [...routes].sort((one, other) => (pathOf(one.operation) < pathOf(other.operation) ? -1 : 1))) {
    addRoute(router, marketplace, route, admit);
  }
  return router;
}

function addRoute(router: Router, marketplace: Marketplace, { operation, run, check }: Route, admit: Admit): void {
  const { dice } = marketplace;
  const hasToken = operation.credential === 'personal' || operation.credential === 'platform';
  /** Before the body is read, so that a caller without the right learns nothing about the body. */
  const meet: RequestHandler = async ({ headers, params, query }, response, next) => {
    Object.assign(response.locals, { errors: operation.errors, isFile: operation.isFile });
    if (operation.isFile) response.set(guardsOfFiles);
    check?.({ ...query, ...params });
    const caller = hasToken
      ? admit(marketplace, headers.authorization, operation)
      : { marketplace, scopes: [], ownerId: '' };
    const target: FaultTarget = dice.nameCall(caller.ownerId, nameOf(operation.address));
    if (operation.credential !== 'none') await meetCall(dice, target, response);
    Object.assign(response.locals, { caller, target });
    next();
  };
  const answer: RequestHandler = (request, response) => {
    const { caller, target } = response.locals as { caller: Admitted; target: FaultTarget };
    const { params, query, body } = request;
    const sent = ['GET', 'DELETE'].includes(methodOf(operation)) ? query : (body ?? {});
    const act = () => run({ ...caller, input: { ...parseRequest(operation, sent), ...params } } as never);
    const key = operation.idempotency === 'header' ? request.header('idempotency-key') : undefined;
    const answered =
      key === undefined ? act() : once(marketplace, `${caller.ownerId} ${operation.id} ${key}`, [params, body], act);
    if (answered instanceof FileAnswer) return sendFile(response, answered);
    const isWaiting = operation.isConfirmed && 'approval' in answered;
    sendAnswer(dice, target, response, isWaiting ? 202 : operation.status, answered);
  };
  const path = pathOf(operation).replaceAll(/\{(\w+)\}/g, ':$1');
  router[methodOf(operation).toLowerCase() as 'get'](path, meet, readJson, answer);
}

/** On each answer of an operation with a file, so that no browser runs it or keeps it (spec: part B section 4.2). */
const guardsOfFiles = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'Cache-Control': 'no-store',
};

/** Chunked, without its length. */
function sendFile(response: Response, { headers, bytes }: FileAnswer): void {
  response.writeHead(200, headers);
  response.write(bytes);
  response.end();
}

/** The same key with the same request returns the first answer; with another one it is refused (spec: part A section 8). */
function once({ state }: Marketplace, key: string, request: unknown, act: () => object): object {
  const digest = createHash('sha256').update(JSON.stringify(request)).digest('hex');
  const known = state.answers.get(key);
  if (known === undefined) {
    const answer = act();
    state.answers.set(key, { digest, answer });
    return answer;
  }
  if (known.digest === digest) return known.answer;
  throw new Refusal('conflict', 'The Idempotency-Key was used for another request', {});
}

/** The id to quote to support, which is also in the body of errors. */
const nameRequest: RequestHandler = (_request, response, next) => {
  response.setHeader(requestIdHeader, `req_${randomUUID()}`);
  next();
};

/** Every body is read as JSON, whatever its content type. */
const readJson: RequestHandler = express.json({ type: () => true, strict: false, limit: '2mb' });
