import { expect } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';

export const { signal } = new AbortController();

/** Ids that cannot be a segment of a path, so that nothing can have them. */
export const oddIds = ['', '.', '..'];

export async function failureOf(promise: Promise<unknown> | undefined): Promise<AppError> {
  const failure = await Promise.resolve(promise).then(
    () => {
      throw new Error('it succeeded');
    },
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(AppError);
  return failure as AppError;
}
