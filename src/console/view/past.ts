import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Asked, Html } from '../page.ts';
import { chosen } from './filter.ts';
import { instantOf } from './instant.ts';

/** The slider goes back so far; the field of the time goes back to the beginning of the journal. */
const sliderMs = 30 * 86_400_000;
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
  const ago = Number(chosen(query, 'ago') ?? 0);
  return ago > 0 && ago * minuteMs <= sliderMs
    ? new Date(clock.now().getTime() - ago * minuteMs).toISOString()
    : undefined;
}

/** Where an instant is chosen: by its time, or by how long ago it was. */
export function instantForm({ path }: Asked, at: string | undefined, since: string, clock: Clock): Html {
  const now = clock.now().getTime();
  const minutes = Math.floor(Math.min(now - Date.parse(since), sliderMs) / minuteMs);
  const ago = at === undefined ? 0 : Math.min(Math.floor((now - Date.parse(at)) / minuteMs), minutes);
  return html`
    <form class="filter" method="get" action="${path}">
      <label
        >As it was at, in UTC<input type="datetime-local" name="at" step="1" value="${at?.slice(0, 19) ?? ''}"
      /></label>
      <button>Show</button>
    </form>
    <form class="filter" method="get" action="${path}">
      <label
        >Minutes ago, from now to ${minutes}<input type="range" name="ago" min="0" max="${Math.max(minutes, 1)}" value="${ago}"
      /></label>
      <button>Go back so far</button>
      ${at !== undefined && html`<a href="${path}">Back to now</a>`}
    </form>
    ${at !== undefined && html`<p>As it was at ${instantOf(at)}, by the evidence journal.</p>`}
  `;
}
