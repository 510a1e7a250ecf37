import { html } from 'hono/html';
import { AppError } from '../domain/errors.ts';
import { operationOf } from '../operations/all.ts';
import { answer } from '../operations/answer.ts';
import { checkInput, type Field, fieldsOf, fromTexts } from '../operations/input.ts';
import type { Operation, OperationContext } from '../operations/operation.ts';
import { addressOf, type ConsoleContext, type Html, type Page, type PageRequest, type Redirect } from './page.ts';

const timeoutMs = 120_000;

/** Runs an operation for the operator who is signed in. @throws AppError `forbidden` if a viewer asks for an act */
export async function ask<Answer extends object>(
  { operator: { role }, by }: PageRequest,
  ctx: OperationContext,
  id: string,
  input: object = {},
): Promise<Answer> {
  const operation = operationOf(id);
  if (operation.role === 'operator' && role !== 'operator') throw new AppError('forbidden', 'A viewer cannot do this');
  const signal = AbortSignal.timeout(timeoutMs);
  const call = { by, role, signal, loops: [], onProgress: () => undefined };
  return (await answer(operation, checkInput(operation.in, input), ctx, call)) as Answer;
}

/**
 * The input of an operation from a query or a form. Unknown names and empty fields are left out.
 *
 * @throws AppError `invalid`
 */
export function inputIn(operation: Operation, fields: URLSearchParams, fixed: object = {}): object {
  const texts = [...fieldsOf(operation.in)].flatMap(([name, field]) => {
    const values = fields
      .getAll(name)
      .map(toPlain)
      .filter((value) => value !== '');
    return values.length === 0 ? [] : [[name, toText(field, values)] as const];
  });
  return checkInput(operation.in, { ...fromTexts(operation.in, Object.fromEntries(texts)), ...fixed });
}

function toText({ type }: Field, values: readonly string[]): string | string[] {
  if (type === 'list') return values.flatMap((value) => value.split(/[\s,]+/));
  return type === 'flag' && ['on', 'yes'].includes(values[0] ?? '') ? 'true' : (values[0] ?? '');
}

/** Removes what no name or id can contain. */
export function toPlain(text: string): string {
  return text
    .replaceAll(/\p{Cc}/gu, '')
    .toWellFormed()
    .trim();
}

/**
 * Runs an operation whose answer may take long. The page then offers to start it, says that it is running, and shows the
 * answer once it is there. The id of the started run is kept in the address.
 *
 * @param whyLong why it may take long; null if it is quick, and run at once
 * @param above what is shown above the offer, such as a filter to narrow it down
 * @returns the answer, or the page to show instead
 */
export async function askLong<Answer extends object>(
  request: PageRequest,
  ctx: ConsoleContext,
  { id, input, title, whyLong, above }: AskedLong,
): Promise<{ answer: Answer; instead?: never } | { answer?: never; instead: Page | Redirect }> {
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
