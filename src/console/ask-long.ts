import { html } from 'hono/html';
import { operationOf } from '../operations/all.ts';
import { ask } from './ask.ts';
import { addressOf, type ConsoleContext, type Html, type Page, type PageRequest, type Redirect } from './page.ts';

type Found<Answer> = { answer: Answer; instead?: never } | { answer?: never; instead: Page | Redirect };

/**
 * Asks an operation whose answer may take long. Where it does, the page offers to start it, says that it is under way,
 * and has the answer when it is there. The address keeps which one was started.
 *
 * @param whyLong a sentence; null where the answer is awaited
 * @param above what stays above the offer, such as a filter to choose less
 */
export async function askLong<Answer extends object>(
  request: PageRequest,
  ctx: ConsoleContext,
  { id, input, title, whyLong, above }: AskedLong,
): Promise<Found<Answer>> {
  const { path, query } = request;
  const addressWith = (started: string) => `${path}?${new URLSearchParams({ ...Object.fromEntries(query), started })}`;
  const started = ctx.startedActs.find(query.get('started') ?? '');
  if (started?.operation.id === id) {
    const { outcome } = started;
    if (outcome !== null && 'error' in outcome) throw outcome.error;
    if (outcome !== null) return { answer: outcome.answer as Answer };
    const body = html`<p role="status">Under way. The answer appears here.</p>`;
    return { instead: { title, body, refreshSeconds: 2, isStill: true } };
  }
  if (whyLong === null) return { answer: await ask<Answer>(request, ctx, id, input) };
  if (query.get('started') === 'now') {
    const start = { operation: operationOf(id), input, back: addressOf(request) };
    return { instead: { redirect: addressWith(ctx.startedActs.begin(ctx, request, start).id) } };
  }
  const body = html`${above}
    <p class="empty">${whyLong} This may take a few minutes.</p>
    <p><a class="button main" href="${addressWith('now')}">Start it</a></p>`;
  return { instead: { title, body, isStill: true } };
}

interface AskedLong {
  /** The operation's id. */
  id: string;
  input: object;
  title: string;
  whyLong: string | null;
  above?: Html | undefined;
}
