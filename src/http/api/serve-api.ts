import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import rawBody from 'raw-body';
import type { z } from 'zod';
import type { Context, Storage } from '../../context.ts';
import { AppError } from '../../domain/errors.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { isCompressed } from '../../lib/http-server.ts';
import { answer, checkInput, fieldsOf, fromTexts } from '../../operations/input.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { createHostCheck } from '../console/request.ts';
import type { Operator, RefusedToken, SharedWithApi } from '../console/sign-in.ts';
import { answerKeptMs, beginAnswer, dropAnswer, type KeyedRequest, keepAnswer } from './kept-answer-store.ts';
import { createDocument, idempotencyKey, operations, type Served } from './openapi-document.ts';
import { ofOperation, Refusal, toApiError, toProblem } from './problem.ts';

/**
 * The way of a request to an operation: host, token, role, input, and then the operation itself. Cookies are ignored, so
 * a page of another site cannot act with what a browser keeps.
 */
export function createApi(ctx: OperationContext, shared: SharedWithApi, stopping: AbortSignal): Router {
  const authenticate = createAuthenticate(shared);
  const router = Router();
  router.use(headers);
  router.use(createHostCheck(ctx.config.console.hosts));
  router.get('/v1/openapi.json', (request, response) => {
    authenticate(request, response);
    response.json(createDocument());
  });
  // Sorted, so that a word comes before a parameter: `/deliveries/replay` is not the delivery "replay".
  const byPath = [...Map.groupBy(operations, ({ path }) => path)].sort(([one], [other]) => (one < other ? -1 : 1));
  for (const [path, some] of byPath) {
    const route = `/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
    for (const operation of some) router[operation.method](route, serve(operation, ctx, authenticate, stopping));
    router.all(route, refuseMethod(some, authenticate));
  }
  router.all('/v1/openapi.json', refuseMethod([{ method: 'get' }], authenticate));
  router.use((request, response) => {
    authenticate(request, response);
    throw new AppError('not_found', 'There is no such address. GET /api/v1/openapi.json lists all of them');
  });
  const sendProblem: ErrorRequestHandler = (thrown, request, response, _next) => {
    const error = toApiError(thrown);
    if (error.code === 'internal') ctx.logger.error({ err: error, path: request.path }, 'A request to the API failed');
    // Otherwise the rest of the body would have to be read before the next request.
    if (hasBody(request) && !request.complete) response.set('Connection', 'close');
    const problem = toProblem(error);
    sendJson(response, problem.status, problem);
  };
  router.use(sendProblem);
  return router;
}

/** No answer is cached, framed, or mistaken for a page. */
const headers: RequestHandler = (_request, response, next) => {
  response.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  });
  next();
};

type Authenticate = ReturnType<typeof createAuthenticate>;

/** Finds the operator of a request by its bearer token. */
function createAuthenticate({ tokens, limit, refused, alwaysSignedIn }: SharedWithApi) {
  /** @throws AppError `unauthenticated`, or `rate_limited` after several wrong tokens */
  return (request: Request, response: Response): Operator => {
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
      throw new AppError('rate_limited', 'This address sent too many wrong tokens. Wait a minute');
    }
    const [, token = ''] = /^Bearer +(\S.*)$/i.exec(authorization) ?? [];
    const owner = tokens.find(token);
    if (owner === undefined) {
      limit.noteFailure(address, authorization);
      report('wrong');
      throw new AppError('unauthenticated', 'The token is not one of console.tokens');
    }
    response.removeHeader('WWW-Authenticate');
    return { name: owner.name, role: owner.role };
  };
}

function refuseMethod(some: readonly Pick<Served, 'method'>[], authenticate: Authenticate): RequestHandler {
  const methods = some.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
  return (request, response) => {
    authenticate(request, response);
    response.set('Allow', methods.join(', '));
    throw new AppError('method_not_allowed', `This address takes ${methods.join(', ')}`);
  };
}

function serve(
  operation: Served,
  ctx: OperationContext,
  authenticate: Authenticate,
  stopping: AbortSignal,
): RequestHandler {
  return async (request, response) => {
    const { name, role } = authenticate(request, response);
    if (operation.role === 'operator' && role !== 'operator') {
      throw new AppError('forbidden', 'This token belongs to a viewer, and only operators can do this');
    }
    const input = {
      params: checkTexts(operation.params, request.params as Record<string, string>),
      query: checkTexts(operation.query, readQuery(request)),
      body:
        operation.body === undefined
          ? {}
          : checkInput(operation.body, await readJson(request, limitOf(operation.body))),
    };
    const by = { actor: name, at: toInstant(ctx.clock.now()), origin: `api ${request.ip}` };
    const signal = signalFor(operation, response, stopping);
    const call = { by, role, signal, loops: [], onProgress: () => undefined };
    const run = async () => {
      try {
        return await answer(operation, { ...input.params, ...input.query, ...input.body }, ctx, call);
      } catch (thrown) {
        throw ofOperation(thrown);
      }
    };
    const key = operation.method === 'post' ? readKey(request) : undefined;
    if (key === undefined) {
      response.json(await run());
      return;
    }
    const keyed = { key: JSON.stringify([name, key]), request: JSON.stringify([operation.id, input]) };
    const { status, body, isReplayed } = await answerOnce(ctx, keyed, run);
    if (isReplayed) response.set('Idempotency-Replayed', 'true');
    sendJson(response, status, body);
  };
}

function checkTexts<T>(schema: z.ZodType<T>, texts: Readonly<Record<string, string>>): T {
  return checkInput(schema, fromTexts(schema, texts));
}

/** The whole query. @throws AppError if a name occurs twice, because it is unclear which value is meant */
function readQuery(request: Request): Record<string, string> {
  const query = new URL(request.originalUrl, 'http://api').searchParams;
  const names = [...query.keys()];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new AppError('invalid', `The query has ${twice.slice(0, 100)} twice`);
  return Object.fromEntries(query);
}

const bodyBytes = 256 * 1024;
const folderBytes = 32 * 1024 * 1024;

function limitOf(body: z.ZodType): number {
  return [...fieldsOf(body).values()].some(({ isFolder }) => isFolder) ? folderBytes : bodyBytes;
}

/** @returns an empty object if there is no body */
async function readJson(request: Request, limit: number): Promise<unknown> {
  if (!hasBody(request)) return {};
  if (!request.is('application/json') || isCompressed(request.headers['content-encoding'])) {
    throw new AppError('unsupported_media_type', 'Send application/json in UTF-8, not compressed');
  }
  const text = await rawBody(request, { limit, encoding: 'utf-8' });
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError('invalid', 'The body is not valid JSON');
  }
}

function hasBody({ headers }: Request): boolean {
  return (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined;
}

/** @throws AppError if the Idempotency-Key is not valid */
function readKey({ headers }: Request): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (idempotencyKey.safeParse(key).success) return String(key);
  throw new AppError('invalid', 'An Idempotency-Key has 1 to 200 letters, digits and signs, without spaces');
}

const timeoutMs = 120_000;

/** A read ends when its caller leaves; an act goes on. Both end when the instance stops. */
function signalFor({ method }: Served, response: Response, stopping: AbortSignal): AbortSignal {
  const late = AbortSignal.timeout(timeoutMs);
  if (method !== 'get') return AbortSignal.any([late, stopping]);
  const left = new AbortController();
  response.once('close', () => left.abort());
  return AbortSignal.any([late, stopping, left.signal]);
}

function sendJson(response: Response, status: number, body: unknown): void {
  response
    .status(status)
    .type(status < 400 ? 'application/json' : 'application/problem+json')
    .send(JSON.stringify(body));
}

/** The answer to an act, or its problem, by the status. */
interface Answered {
  status: number;
  body: unknown;
}

/**
 * Runs an act once for each key. Its answer is kept, and so is a refusal. If it cannot be done now, nothing is kept, so
 * that the same request can be tried again.
 *
 * @throws AppError `conflict` while the act is running, and a Refusal if the key came with another request
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
      throw new Refusal('key_reused', 'This Idempotency-Key was used for another request. Use a new one');
    case 'under_way':
      throw new AppError(
        'conflict',
        'The request with this Idempotency-Key is still running or was interrupted. Try again, or check the audit log for whether it was done',
      );
    case 'begun':
      return { ...(await actAndKeep(ctx, begun.id, act)), isReplayed: false };
  }
}

async function actAndKeep(ctx: Storage, id: number, act: () => Promise<unknown>): Promise<Answered> {
  const body = await act().catch(async (thrown: unknown) => {
    const refusal = toProblem(toApiError(thrown));
    if (refusal.status < 500) await keepAnswer(ctx, id, { status: refusal.status, body: refusal });
    // After an unexpected error nobody knows what was done, so the key stays taken.
    else if (refusal.code === 'unavailable') await dropAnswer(ctx, id);
    throw thrown;
  });
  const answered = { status: 200, body };
  await keepAnswer(ctx, id, answered);
  return answered;
}
