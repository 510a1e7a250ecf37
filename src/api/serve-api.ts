import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import rawBody from 'raw-body';
import type { z } from 'zod';
import { createHostCheck } from '../console/request.ts';
import type { Operator, RefusedToken, SharedWithApi } from '../console/sign-in/tokens.ts';
import type { Context } from '../context.ts';
import { AppError } from '../domain/errors.ts';
import type { Storage } from '../keys/storage.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { isCompressed } from '../lib/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import { answer } from '../operations/answer.ts';
import { checkInput, fromTexts } from '../operations/input.ts';
import type { Call, OperationContext, Role } from '../operations/operation.ts';
import { answerKeptMs, beginAnswer, dropAnswer, type KeyedRequest, keepAnswer } from './kept-answer-store.ts';
import { createDocument, idempotencyKey, operations, type Served } from './openapi-document.ts';
import { isForeseen, ofOperation, Refusal, toApiError, toProblem } from './problem.ts';

const patienceMs = 120_000;

/**
 * The way of a request to an operation: host, token, role, what was given, and then the operation itself. No cookie
 * counts here, so no page of another site can act with what a browser keeps.
 */
export function createApi(ctx: OperationContext, shared: SharedWithApi, stopping: AbortSignal): Router {
  const bearer = createBearer(shared);
  const router = Router();
  router.use(headers);
  router.use(createHostCheck(ctx.config.console.hosts));
  router.get('/v1/openapi.json', (request, response) => {
    bearer.mayRead(request, response);
    response.json(createDocument());
  });
  // Sorted, so that a word comes before a parameter: `/deliveries/replay` is not the delivery "replay".
  for (const [path, some] of [...Map.groupBy(operations, ({ path }) => path)].sort(byPath)) {
    const route = `/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
    for (const operation of some) router[operation.method](route, handle(operation, ctx, bearer, stopping));
    router.all(route, refuseMethod(some, bearer));
  }
  router.all('/v1/openapi.json', refuseMethod([{ method: 'get' }], bearer));
  router.use((request, response) => {
    bearer.mayRead(request, response);
    throw new AppError('not_found', 'There is no such address: GET /api/v1/openapi.json names all that there are');
  });
  router.use(createProblemHandler(ctx.logger));
  return router;
}

function byPath([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}

/** No answer is cached, framed or taken for a page. */
const headers: RequestHandler = (_request, response, next) => {
  response.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  });
  next();
};

function checkTexts<T>(schema: z.ZodType<T>, texts: Readonly<Record<string, string>>): T {
  return checkInput(schema, fromTexts(schema, texts));
}

function handle(operation: Served, ctx: OperationContext, bearer: Bearer, stopping: AbortSignal): RequestHandler {
  return async (request, response) => {
    const operator = bearer.mustHave(operation.role, request, response);
    const given = {
      params: checkTexts(operation.params, request.params as Record<string, string>),
      query: checkTexts(operation.query, readQuery(request)),
      body: operation.body === undefined ? {} : checkInput(operation.body, await readJson(request)),
    };
    const signal = patienceWith(operation, response, stopping);
    const by = byOf(operator, request, ctx);
    const input = { ...given.params, ...given.query, ...given.body };
    const call = { by, role: operator.role, signal, loops: [], onProgress: () => undefined };
    const act = () => run(operation, input, ctx, call);
    const key = operation.method === 'post' ? readKey(request) : undefined;
    if (key === undefined) {
      response.json(await act());
      return;
    }
    const asked = JSON.stringify([operation.id, given]);
    const keyed = { key: JSON.stringify([operator.name, key]), request: asked };
    const { status, body, isReplayed } = await answerOnce(ctx, keyed, act);
    if (isReplayed) response.set('Idempotency-Replayed', 'true');
    sendJson(response, status, body);
  };
}

async function run(operation: Served, input: object, ctx: OperationContext, call: Call): Promise<unknown> {
  try {
    return await answer(operation, input, ctx, call);
  } catch (thrown) {
    throw ofOperation(thrown);
  }
}

function sendJson(response: Response, status: number, body: unknown): void {
  response
    .status(status)
    .type(status < 400 ? 'application/json' : 'application/problem+json')
    .send(JSON.stringify(body));
}

function byOf(operator: Operator, request: Request, { clock }: OperationContext) {
  return { actor: operator.name, at: toInstant(clock.now()), origin: `api ${request.ip}` };
}

/** A read ends with its caller, and an act goes on without them. Both end when the instance stops. */
function patienceWith({ method }: Served, response: Response, stopping: AbortSignal): AbortSignal {
  const late = AbortSignal.timeout(patienceMs);
  if (method !== 'get') return AbortSignal.any([late, stopping]);
  const left = new AbortController();
  response.once('close', () => left.abort());
  return AbortSignal.any([late, stopping, left.signal]);
}

function refuseMethod(some: readonly Pick<Served, 'method'>[], bearer: Bearer): RequestHandler {
  const methods = some.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
  return (request, response) => {
    bearer.mayRead(request, response);
    response.set('Allow', methods.join(', '));
    throw new AppError('method_not_allowed', `This address takes ${methods.join(', ')}`);
  };
}

/** Only the log has the cause of an unexpected error. Express needs all four parameters. */
function createProblemHandler(logger: Logger): ErrorRequestHandler {
  return (thrown, request, response, _next) => {
    const error = toApiError(thrown);
    const problem = toProblem(error);
    if (problem.status >= 500 && !isForeseen(error)) {
      logger.error({ err: error, path: request.path }, 'A request to the API failed');
    }
    // Otherwise the rest of the body would have to be read before the next request.
    if (hasBody(request) && !request.complete) response.set('Connection', 'close');
    sendJson(response, problem.status, problem);
  };
}

/** The answer of an act. Its status says whether it is a problem. */
interface Answered {
  status: number;
  body: unknown;
}

/**
 * Acts once for each key. What was refused is kept as well as what was done. What cannot be done now is not kept, so
 * that the same request can be tried again.
 *
 * @throws AppError `conflict` while the act is under way, and a problem where the key came with another request
 */
export async function answerOnce(
  ctx: Context,
  keyed: KeyedRequest,
  act: () => Promise<unknown>,
): Promise<Answered & { isReplayed: boolean }> {
  const begun = await beginAnswer(ctx, keyed, toInstant(ctx.clock.now()), instantIn(ctx.clock, -answerKeptMs));
  switch (begun.outcome) {
    case 'answered':
      return { ...(begun.answer as Answered), isReplayed: true };
    case 'other_request':
      throw new Refusal('key_reused', 422, 'This Idempotency-Key came with another request before: use a new one');
    case 'under_way':
      throw new AppError(
        'conflict',
        'The request with this Idempotency-Key is under way, or was cut off: ask again, or see in the audit log whether it was done',
      );
    case 'begun':
      return { ...(await actAndKeep(ctx, begun.id, act)), isReplayed: false };
  }
}

async function actAndKeep(ctx: Storage, id: number, act: () => Promise<unknown>): Promise<Answered> {
  const body = await act().catch(async (thrown: unknown) => {
    const refusal = toProblem(toApiError(thrown));
    if (refusal.status < 500) await keepAnswer(ctx, id, { status: refusal.status, body: refusal });
    // After an unexpected error it is not known what was done, so the key stays taken.
    else if (refusal.code === 'unavailable') await dropAnswer(ctx, id);
    throw thrown;
  });
  const answered = { status: 200, body };
  await keepAnswer(ctx, id, answered);
  return answered;
}

const bodyBytes = 256 * 1024;

/** The whole query. @throws AppError where something is given twice: it is not clear which one is meant */
function readQuery(request: Request): Record<string, string> {
  const query = new URL(request.originalUrl, 'http://api').searchParams;
  const names = [...query.keys()];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new AppError('invalid', `The query has ${twice.slice(0, 100)} twice`);
  return Object.fromEntries(query);
}

/** The key that makes an act be done once. @throws AppError where it cannot be one */
function readKey({ headers }: Request): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  const { success } = idempotencyKey.safeParse(key);
  if (success) return String(key);
  throw new AppError('invalid', 'An Idempotency-Key has 1 to 200 letters, digits and signs, without spaces');
}

function hasBody({ headers }: Request): boolean {
  return (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined;
}

/** @returns an empty object where nothing was sent */
async function readJson(request: Request): Promise<unknown> {
  if (!hasBody(request)) return {};
  if (!request.is('application/json') || isCompressed(request.headers['content-encoding'])) {
    throw new AppError('unsupported_media_type', 'Send application/json in UTF-8, not compressed');
  }
  const text = await rawBody(request, { limit: bodyBytes, encoding: 'utf-8' });
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError('invalid', 'The body is no JSON');
  }
}

type Bearer = ReturnType<typeof createBearer>;

/** Finds the operator of a request by its bearer token. */
function createBearer({ tokens, limit, refused, alwaysSignedIn }: SharedWithApi) {
  /** @throws AppError `unauthenticated`, or `rate_limited` after several wrong tokens */
  function mayRead(request: Request, response: Response): Operator {
    const { authorization } = request.headers;
    if (authorization === undefined && alwaysSignedIn !== undefined) return { ...alwaysSignedIn, role: 'viewer' };
    response.set('WWW-Authenticate', 'Bearer');
    const address = request.ip ?? '';
    const report = (reason: RefusedToken['reason']) => refused.report({ where: 'api', reason, address });
    if (authorization === undefined) {
      report('missing');
      throw new AppError('unauthenticated', 'Send "Authorization: Bearer <token>" with a token of console.tokens');
    }
    const waitMs = limit.waitMs(address);
    if (waitMs > 0) {
      report('too_many_tries');
      response.set('Retry-After', String(Math.ceil(waitMs / 1000)));
      throw new AppError('rate_limited', 'Too many wrong tokens came from this address: wait a minute');
    }
    const [, token = ''] = /^Bearer +(\S.*)$/i.exec(authorization) ?? [];
    const owner = tokens.find(token);
    if (owner === undefined) {
      limit.noteFailure(address, authorization);
      report('wrong');
      throw new AppError('unauthenticated', 'This is no token of console.tokens');
    }
    response.removeHeader('WWW-Authenticate');
    return { name: owner.name, role: owner.role };
  }

  return {
    mayRead,
    /** @throws AppError also `forbidden`, where the role does not suffice */
    mustHave(role: Role, request: Request, response: Response): Operator {
      const operator = mayRead(request, response);
      if (role === 'operator' && operator.role !== 'operator') {
        throw new AppError('forbidden', 'This token is of a viewer, and only operators can do this');
      }
      return operator;
    },
  };
}
