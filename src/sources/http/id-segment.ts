import { AppError } from '../../domain/errors.ts';
import { isPathSegment, pathSegment } from '../../lib/path-segment.ts';

/**
 * Any id as one segment of a path.
 *
 * @throws AppError `not_found` for an id that cannot be a segment, because nothing can have it
 */
export function toSegment(id: string): string {
  if (!isPathSegment(id)) throw new AppError('not_found', 'There is nothing with such an id');
  return pathSegment(id);
}
