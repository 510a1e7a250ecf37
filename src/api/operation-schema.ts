import { z } from 'zod';
import type { Operator } from '../console/operator.ts';
import type { By } from '../db/audit-store.ts';
import { splitInput } from '../operations/input.ts';
import type { Operation as Declaration, OperationContext, Role } from '../operations/operation.ts';

/**
 * What can be asked of the API, as data: each operation has an address, who may use it, and the schemas that check a
 * request and cut an answer to what is documented. Routes, the document and the tests are made from the list.
 */
export interface Operation extends OperationTexts {
  role: Role;
  params: z.ZodObject;
  query: z.ZodObject;
  /** Undefined where nothing is sent. */
  body: z.ZodType<Given> | undefined;
  answer: z.ZodObject;
  run(asked: AskedOf<Given, Given, Given>, ctx: OperationContext): unknown;
}

interface OperationTexts {
  /** In camel case, as programs are made from the document. */
  id: string;
  /** `get` changes nothing; `post` is an act. */
  method: 'get' | 'post';
  /** Below `/api/v1`, such as `/plans/{plan}`. */
  path: string;
  summary: string;
  tag: string;
  /** The answer has what only its caller may see: it is sent as it is. In other answers addresses are masked. */
  isSecret?: true;
}

type Given = Record<string, unknown>;

/** A request after it was let in and checked. */
export interface AskedOf<Params, Query, Body> {
  operator: Operator;
  /** The operator, the time and the address, for the audit log. */
  by: By;
  params: Params;
  query: Query;
  body: Body;
  /** Aborted when the caller goes away, or after two minutes. */
  signal: AbortSignal;
}

const none = z.strictObject({});

interface Declared<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType<object>,
  Answer extends z.ZodObject,
> extends OperationTexts {
  params?: Params;
  query?: Query;
  body?: Body;
  answer: Answer;
  /** By default viewers read, and only operators act. */
  role?: Role;
  run(
    asked: AskedOf<z.output<Params>, z.output<Query>, z.output<Body>>,
    ctx: OperationContext,
  ): z.input<Answer> | Promise<z.input<Answer>>;
}

export function defineOperation<
  Answer extends z.ZodObject,
  Params extends z.ZodObject = typeof none,
  Query extends z.ZodObject = typeof none,
  Body extends z.ZodType<object> = typeof none,
>(declared: Declared<Params, Query, Body, Answer>): Operation {
  const { params = none, query = none, body, role, run, ...texts } = declared;
  return {
    ...texts,
    role: role ?? (texts.method === 'get' ? 'viewer' : 'operator'),
    params,
    query,
    // An act takes a body even where there is nothing to say: an empty one.
    body: texts.method === 'post' ? ((body ?? none) as z.ZodType<Given>) : undefined,
    // What is given was checked by these very schemas.
    run: run as unknown as Operation['run'],
  };
}

/** An operation of the table, as the API asks it. */
export function ofTable(operation: Declaration): Operation {
  const { id, method, path, summary, noun, role, out, isSecret } = operation;
  const { params, rest } = splitInput(operation);
  return {
    id,
    method,
    path,
    summary,
    tag: noun,
    role,
    ...(isSecret && { isSecret }),
    params,
    query: method === 'get' ? (rest as z.ZodObject) : none,
    body: method === 'post' ? (rest as z.ZodType<Given>) : undefined,
    answer: out,
    run: ({ params, query, body, by, signal }, ctx) =>
      operation.run({ ...params, ...query, ...body }, ctx, { by, signal, loops: [], onProgress: () => undefined }),
  };
}
