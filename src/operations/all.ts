import { AppError } from '../domain/errors.ts';
import { nouns } from './nouns.ts';
import type { Operation } from './operation.ts';

const loaded = await Promise.all(Object.values(nouns).map(({ load }) => load()));

/** Every operation. Commands do not load this file, only their own noun. */
export const operations: readonly Operation[] = loaded.flatMap((noun) => noun.operations);

const byId = new Map(operations.map((operation) => [operation.id, operation]));

export function operationOf(id: string): Operation {
  const found = byId.get(id);
  if (found === undefined) throw new AppError('not_found', `There is no operation ${id}`);
  return found;
}
