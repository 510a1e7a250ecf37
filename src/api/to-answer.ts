import { AppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import type { Operation } from './operation-schema.ts';

/**
 * What an operation gives, cut to what is documented: a column that is added to a table does not get out by itself.
 * Strangers choose names, and tools may use addresses as ids, so every text is masked.
 */
export function cutToAnswer({ id, answer, isSecret }: Operation, given: unknown): unknown {
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
