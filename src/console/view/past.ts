import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Asked, Html } from '../page.ts';
import { chosen } from './filter.ts';
import { instantOf } from './instant.ts';

/** The slider goes back so far; the field of the time goes back to the beginning of the journal. */
const mostMinutes = 30 * 24 * 60;
const minuteMs = 60_000;

/**
 * The instant of the past that a page is asked about; undefined for now.
 *
 * @throws AppError `invalid` for a time that is none
 */
export function instantAsked({ query }: Asked, clock: Clock): string | undefined {
  const at = chosen(query, 'at');
  if (at !== undefined) {
    // A field of a form has no zone, and the console shows all times in UTC.
    const instant = new Date(/(Z|[+-]\d\d:\d\d)$/.test(at) ? at : `${at}Z`);
    if (Number.isNaN(instant.getTime())) throw new AppError('invalid', 'Write a time such as 2026-03-15T12:00:00');
    return instant.toISOString();
  }
  const ago = chosen(query, 'ago');
  if (ago === undefined || ago === '0') return undefined;
  if (!/^[1-9]\d{0,4}$/.test(ago) || Number(ago) > mostMinutes) {
    throw new AppError('invalid', `How long ago is a number of minutes, at most ${mostMinutes}`);
  }
  return new Date(clock.now().getTime() - Number(ago) * minuteMs).toISOString();
}

/** Where an instant is chosen: by its time, or by how long ago it was. */
export function instantForm({ path }: Pick<Asked, 'path'>, at: string | undefined, since: string, clock: Clock): Html {
  const minutesSince = (from: string) => Math.floor((clock.now().getTime() - Date.parse(from)) / minuteMs);
  const minutes = Math.min(minutesSince(since), mostMinutes);
  // The first position is now, and nothing but now stands there.
  const ago = at === undefined ? 0 : Math.min(Math.max(minutesSince(at), 1), minutes);
  return html`
    <form class="filter" method="get" action="${path}">
      <label
        >As it was at, in UTC<input type="datetime-local" name="at" step="1" value="${at?.slice(0, 19) ?? ''}"
      /></label>
      <button>Show</button>
    </form>
    ${
      minutes >= 1 &&
      html`<form class="filter" method="get" action="${path}">
        <label
          >Minutes ago, from 0 (now) to ${minutes}<input type="range" name="ago" min="0" max="${minutes}" value="${ago}"
        /></label>
        <button>Go back so far</button>
      </form>`
    }
    ${
      at === undefined
        ? html`<p>As it is now.</p>`
        : html`<p>As it was at ${instantOf(at)}, by the evidence journal. <a href="${path}">Back to now</a></p>`
    }
  `;
}
