import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import { createHostCheck } from '../console/check-origin.ts';
import type { Operator } from '../console/operator.ts';
import { AppError } from '../domain/errors.ts';
import { toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { maskText } from '../lib/mask.ts';
import { answerOnce } from './answer-once.ts';
import type { ApiParts } from './api-parts.ts';
import { type ApiWay, createBearer } from './bearer.ts';
import { createKeptAnswerStore } from './kept-answer-store.ts';
import { createDocument } from './openapi-document.ts';
import type { Operation } from './operation-schema.ts';
import { operations } from './operations.ts';
import { isForeseen, ofOperation, toApiError, toProblem } from './problem.ts';
import { checkGiven, hasBody, readJson, readKey, readQuery } from './request.ts';

/**
 * The way of a request to an operation: host, token, role, what was given, and then the operation itself. No cookie
 * counts here, so no page of another site can act with what a browser keeps.
 */
export interface ServedApi extends ApiWay {
  parts: ApiParts;
  logger: Logger;
}

const patienceMs = 120_000;

export function createApi(served: ServedApi): Router {
  const bearer = createBearer(served);
  const router = Router();
  router.use(headers);
  router.use(createHostCheck(served.hosts));
  router.get('/v1/openapi.json', (request, response) => {
    bearer.mayRead(request, response);
    response.json(createDocument());
  });
  // Sorted, a word comes before a part that is open: `/deliveries/replay` is no number of a delivery.
  for (const [path, some] of [...Map.groupBy(operations, ({ path }) => path)].sort(byPath)) {
    const route = `/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
    for (const operation of some) router[operation.method](route, handle(operation, served, bearer));
    router.all(route, refuseMethod(some, bearer));
  }
  router.all('/v1/openapi.json', refuseMethod([{ method: 'get' }], bearer));
  router.use((request, response) => {
    bearer.mayRead(request, response);
    throw new AppError('not_found', 'There is no such address: GET /api/v1/openapi.json names all that there are');
  });
  router.use(createProblemHandler(served.logger));
  return router;
}

function byPath([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}

/** Nothing of it is kept, shown in a frame, or taken for a page. */
const headers: RequestHandler = (_request, response, next) => {
  response.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  });
  next();
};

type Bearer = ReturnType<typeof createBearer>;

function handle(operation: Operation, { parts }: ServedApi, bearer: Bearer): RequestHandler {
  const answers = createKeptAnswerStore(parts.database, parts.box);
  return async (request, response) => {
    const operator = bearer.mustHave(operation.role, request, response);
    const given = {
      params: checkGiven(operation.params, request.params, 'The address'),
      query: checkGiven(operation.query, readQuery(request), 'The query'),
      body: operation.body === undefined ? {} : checkGiven(operation.body, await readJson(request), 'The body'),
    };
    const signal = patienceWith(operation, response);
    const by = byOf(operator, request, parts);
    const act = () => run(operation, { ...given, operator, by, signal }, parts);
    const key = operation.method === 'post' ? readKey(request) : undefined;
    if (key === undefined) {
      response.json(await act());
      return;
    }
    const asked = JSON.stringify([operation.id, given]);
    const keyed = { key: JSON.stringify([operator.name, key]), request: asked };
    const { status, body, isReplayed } = await answerOnce({ answers, clock: parts.clock }, keyed, act);
    if (isReplayed) response.set('Idempotency-Replayed', 'true');
    sendJson(response, status, body);
  };
}

async function run(operation: Operation, asked: Parameters<Operation['run']>[0], parts: ApiParts): Promise<unknown> {
  try {
    return cutToAnswer(operation, await operation.run(asked, parts));
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

function byOf(operator: Operator, request: Request, { clock }: ApiParts) {
  return { actor: operator.name, at: toInstant(clock.now()), origin: `api ${request.ip}` };
}

/** What only reads ends with its caller; an act goes on without them. */
function patienceWith({ method }: Operation, response: Response): AbortSignal {
  const late = AbortSignal.timeout(patienceMs);
  if (method !== 'get') return late;
  const left = new AbortController();
  response.once('close', () => left.abort());
  return AbortSignal.any([late, left.signal]);
}

function refuseMethod(some: readonly Pick<Operation, 'method'>[], bearer: Bearer): RequestHandler {
  const methods = some.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
  return (request, response) => {
    bearer.mayRead(request, response);
    response.set('Allow', methods.join(', '));
    throw new AppError('method_not_allowed', `This address takes ${methods.join(', ')}`);
  };
}

/** The reason of an error that is not foreseen is in the log. Express needs the four parameters. */
function createProblemHandler(logger: Logger): ErrorRequestHandler {
  return (thrown, request, response, _next) => {
    const error = toApiError(thrown);
    const problem = toProblem(error);
    if (problem.status >= 500 && !isForeseen(error)) {
      logger.error({ err: error, path: request.path }, 'A request to the API failed');
    }
    // What was not read of a body would have to be read before the next request.
    if (hasBody(request) && !request.complete) response.set('Connection', 'close');
    sendJson(response, problem.status, problem);
  };
}

/**
 * What an operation gives, cut to what is documented: a column that is added to a table does not get out by itself.
 * Strangers choose names, and tools may use addresses as ids, so every text is masked.
 */
function cutToAnswer({ id, answer, isSecret }: Operation, given: unknown): unknown {
  const cut = answer.safeParse(given);
  if (!cut.success) {
    const [issue] = cut.error.issues;
    throw new AppError('internal', `The answer of ${id} is not as documented at ${issue?.path.join('.')}`);
  }
  return isSecret === true ? cut.data : maskAll(cut.data);
}

function maskAll(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map(maskAll);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, maskAll(one)]));
}
