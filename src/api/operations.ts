import { z } from 'zod';
import { operations as declared } from '../operations/all.ts';
import { splitInput } from '../operations/input.ts';
import type { Operation } from '../operations/operation.ts';

/** An operation as the API takes it: what is in the address, in the query of a read, and in the body of an act. */
export interface Served extends Operation {
  params: z.ZodObject;
  query: z.ZodObject;
  /** Undefined for a read. */
  body: z.ZodType<object> | undefined;
}

const none = z.strictObject({});

/** Everything that the API can do. */
export const operations: readonly Served[] = declared.map((operation) => {
  const { params, rest } = splitInput(operation);
  const isRead = operation.method === 'get';
  return { ...operation, params, query: isRead ? (rest as z.ZodObject) : none, body: isRead ? undefined : rest };
});
