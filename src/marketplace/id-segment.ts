import { AppError } from '../domain/errors.ts';
import { isPathSegment, pathSegment } from '../lib/path-segment.ts';

/**
 * One segment of a path, whatever stands in it.
 *
 * @throws AppError `not_found` where it would be none, so that nothing can be there
 */
export function toSegment(id: string): string {
  if (!isPathSegment(id)) throw new AppError('not_found', 'There is nothing with such an id');
  return pathSegment(id);
}
