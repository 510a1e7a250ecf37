import { AppError } from '../domain/errors.ts';

/**
 * One segment of a path, whatever stands in it.
 *
 * @throws AppError `not_found` where it would be none, so that nothing can be there
 */
export function toSegment(id: string): string {
  if (/^\.{0,2}$/.test(id) || !id.isWellFormed()) {
    throw new AppError('not_found', 'There is nothing with such an id');
  }
  return encodeURIComponent(id);
}
