import type { Call } from '../http/caller.ts';
import type { Source } from '../source.ts';
import { UpdatesAnswer } from './employer-schema.ts';

/** As many as the marketplace gives at once. */
const limit = 200;

/** The feed of an account (spec: part A section 4.10). */
export function createReadUpdates(call: Call): NonNullable<Source['readUpdates']> {
  return async (cursor, signal) => {
    const query = new URLSearchParams({ limit: String(limit), ...(cursor !== null && { cursor }) });
    const operation = { path: `/updates?${query}`, purpose: 'read what has happened', answer: UpdatesAnswer };
    const { events, nextCursor = null, hasMore } = await call(operation, signal);
    // Never beyond the last event that came: a page that was cut off, even to nothing, may name a later cursor.
    // Only where more follows may a page be empty because the token may not read its events.
    const isEmpty = events.length === 0 && hasMore !== true;
    const reached = isEmpty ? cursor : (events.at(-1)?.id ?? nextCursor ?? cursor);
    const isMore = hasMore === true || (nextCursor !== null && nextCursor !== reached);
    return {
      updates: events.map(({ createdAt, body }) => ({ createdAt, body })),
      cursor: reached,
      // The same page again would bring nothing.
      hasMore: isMore && reached !== cursor,
    };
  };
}
