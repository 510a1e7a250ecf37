import { setTimeout as wait } from 'node:timers/promises';
import { html } from 'hono/html';
import { AppError, httpStatusOf, toAppError } from '../../domain/errors.ts';
import { maskText } from '../../lib/mask.ts';
import { sayInstants } from '../../lib/units.ts';
import { operationOf } from '../../operations/all.ts';
import { answer, checkInput, type Field, fieldsOf, fromTexts } from '../../operations/input.ts';
import type { Operation, OperationContext } from '../../operations/operation.ts';
import {
  type Act,
  type Answer,
  addressOf,
  type ConsoleContext,
  formOf,
  type Html,
  type Page,
  type PageRequest,
  type Redirect,
  type View,
} from './page.ts';
import { safePath } from './request.ts';
import type { StartedAct } from './started-acts.ts';
import { explainedField } from './view/form.ts';
import { instantOf, labelOf, secretSheet, sheetOf, tableOf } from './view/table.ts';

const timeoutMs = 120_000;

/** Runs an operation for the operator who is signed in. @throws AppError `forbidden` if a viewer asks for an act */
export async function ask<Out extends object>(
  { operator: { role }, by }: PageRequest,
  ctx: OperationContext,
  id: string,
  input: object = {},
): Promise<Out> {
  const operation = operationOf(id);
  if (operation.role === 'operator' && role !== 'operator') throw new AppError('forbidden', 'A viewer cannot do this');
  const signal = AbortSignal.timeout(timeoutMs);
  const call = { by, role, signal, loops: [], onProgress: () => undefined };
  return (await answer(operation, checkInput(operation.in, input), ctx, call)) as Out;
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
export async function askLong<Out extends object>(
  request: PageRequest,
  ctx: ConsoleContext,
  { id, input, title, whyLong, above }: LongOperation,
): Promise<{ answer: Out; instead?: never } | { answer?: never; instead: Page | Redirect }> {
  const { path, query } = request;
  const addressWith = (started: string) => `${path}?${new URLSearchParams({ ...Object.fromEntries(query), started })}`;
  const started = ctx.startedActs.find(query.get('started') ?? '');
  if (started?.operation.id === id) {
    const { outcome } = started;
    if (outcome !== null && 'error' in outcome) throw outcome.error;
    if (outcome !== null) return { answer: outcome.answer as Out };
    const body = html`<p role="status">Under way. The answer appears here.</p>`;
    return { instead: { title, body, refreshSeconds: 2, isStill: true } };
  }
  if (whyLong === null) return { answer: await ask<Out>(request, ctx, id, input) };
  if (query.get('started') === 'now') {
    const start = { operation: operationOf(id), input, back: addressOf(request) };
    return { instead: { redirect: addressWith(ctx.startedActs.begin(ctx, request, start).id) } };
  }
  const body = html`${above}
    <p class="empty">${whyLong} This may take a few minutes.</p>
    <p><a class="button main" href="${addressWith('now')}">Start it</a></p>`;
  return { instead: { title, body, isStill: true } };
}

interface LongOperation {
  id: string;
  input: object;
  title: string;
  whyLong: string | null;
  above?: Html | undefined;
}

/** The ids of the operations that a form of the console may run. */
const offered = [
  ...['reconcileNow', 'membersConverge', 'membersInvitation', 'membersRenew', 'contractsEnd', 'contractsReopen'],
  ...['plansApprove', 'linksAdd', 'linksRemove', 'guidelinesSync', 'installsRemove', 'tokenRotate'],
  ...['endpointRotate', 'deliveriesReplay', 'doctorRun', 'teamInvite', 'budgetsTopUp'],
  ...['hirePublish', 'hireConfirm', 'hireEnd', 'milestonesCreate', 'milestonesFund', 'milestonesApprove'],
  ...['usageReport', 'usageAssign', 'usageDiscard', 'usageTakeBack', 'usageSend', 'usageDismiss'],
];

/** If the act is refused, the page with its form says why, and shows what was entered. */
export function orAgain(show: View<Page>['show'], act: Act['act']): Act['act'] {
  return async (request, ctx) => {
    try {
      return await act(request, ctx);
    } catch (error) {
      const { code, message } = toAppError(error);
      if (code === 'internal') throw error;
      const page = await show(request, ctx);
      const body = html`<p role="alert" class="bad">${maskText(message)}</p>${page.body}`;
      return { ...page, status: httpStatusOf(code), body };
    }
  };
}

type Inputs = Readonly<Record<string, string | number | boolean | undefined>>;

interface Button {
  label: string;
  /** For screen readers, if several buttons have the same label. */
  about?: string;
  tone?: 'main' | 'danger';
  /** Fields that the operator fills in. */
  fields?: Html;
  /** The page to return to afterwards; by default the current one. */
  back?: string;
}

/** A button that acts at once. A viewer gets none. */
export function actButton(request: PageRequest, id: string, inputs: Inputs, button: Button): Html | string {
  const { label, about, tone = '', fields, back = addressOf(request) } = button;
  return formOf(
    request,
    `/do/${id}`,
    html`${hiddenOf({ ...inputs, back })}${fields}<button class="${tone}" ${about && html`aria-label="${about}"`}>${label}</button>`,
  );
}

function hiddenOf(inputs: Inputs): Html[] {
  return Object.entries(inputs).flatMap(([name, value]) =>
    value === undefined ? [] : [html`<input type="hidden" name="${name}" value="${String(value)}" />`],
  );
}

/** A link to a page that says what an act does, asks for its input, and has it confirmed. */
export function askLink(
  request: PageRequest,
  id: string,
  inputs: Readonly<Record<string, string>>,
  label: string,
  back = addressOf(request),
): Html | string {
  if (request.operator.role !== 'operator') return '';
  return html`<a href="/do/${id}?${new URLSearchParams({ ...inputs, back })}">${label}</a>`;
}

export const actViews: readonly View[] = [
  ...offered.map((id) => ({ path: `/do/${id}`, show: (request: PageRequest) => showConfirmation(request, id) })),
  { path: '/started/:act', show: ({ params }, ctx) => showStarted(ctx.startedActs.find(params['act'] ?? '')) },
];

export const acts: readonly Act[] = offered.map((id) => ({
  path: `/do/${id}`,
  act: async (request, ctx): Promise<Answer> => {
    const operation = operationOf(id);
    const { form } = request;
    const back = safePath(form.get('back'));
    const started = ctx.startedActs.begin(ctx, request, { operation, input: inputIn(operation, form), back });
    // A secret is shown in this answer, because no later page has it.
    const soon = operation.isSecret ? started.ended : wait(waitMs, undefined, { ref: false });
    await Promise.race([started.ended, soon]);
    return answerOf(started);
  },
}));

/** How long the answer waits for an act to end. */
const waitMs = 1000;
const refreshSeconds = 2;

function answerOf(started: StartedAct): Answer {
  const { id, back, operation, outcome } = started;
  if (outcome === null) return { redirect: `/started/${id}` };
  if ('error' in outcome) throw outcome.error;
  const { answer } = outcome;
  if (operation.isSecret) return { title: labelOf(operation.verb), body: secretSheet(answer, back) };
  const { show } = operation;
  const isShort = typeof show === 'function' && operation.problems(answer).length === 0;
  return isShort ? { redirect: back, notice: sayInstants(show(answer)) } : { redirect: `/started/${id}` };
}

function showStarted(started: StartedAct | undefined): Page {
  if (started === undefined) return { title: 'Unknown act', body: unknown };
  const { operation, by, back, progress, outcome } = started;
  return {
    title: operation.summary,
    ...(outcome === null && { refreshSeconds }),
    isStill: true,
    body: html`
      <p class="quiet">Asked for by ${by.actor} ${instantOf(by.at)}.</p>
      ${outcome === null ? html`<p role="status">Under way. ${progress}</p>` : outcomeOf(started, outcome)}
      <p><a href="${back}">Back</a></p>
    `,
  };
}

const unknown = html`<p class="empty">
  This instance does not know this act. Only the instance that runs an act knows its progress, and only until it
  restarts. The audit log says what was done.
</p>`;

function outcomeOf({ operation: { show, problems } }: StartedAct, outcome: NonNullable<StartedAct['outcome']>): Html {
  if ('error' in outcome) {
    const { code, message } = outcome.error;
    return html`<p role="alert" class="bad">${code === 'internal' ? 'This did not work. The log says why.' : maskText(message)}</p>`;
  }
  const { answer } = outcome;
  return html`
    ${problems(answer).map((says) => html`<p class="warn">${maskText(says)}</p>`)}
    ${typeof show === 'function' && html`<pre role="status">${show(answer)}</pre>`}
    ${'columns' in show && tableOf('Result', show.rowsOf(answer), show.columns, show.whenEmpty)}
  `;
}

function showConfirmation(request: PageRequest, id: string): Page {
  const { query } = request;
  const operation = operationOf(id);
  const back = safePath(query.get('back'));
  const all = fieldsOf(operation.in);
  // The console decides how long to wait, and pressing the button is the confirmation.
  const fields = [...all].filter(([name]) => name !== 'wait' && name !== 'yes');
  const known = fields.flatMap(([name]) => (query.has(name) ? [[name, query.get(name) ?? ''] as const] : []));
  const missing = fields.filter(([name]) => !query.has(name));
  const form = formOf(
    request,
    `/do/${id}`,
    html`${hiddenOf({ ...Object.fromEntries(known), yes: all.has('yes') || undefined, back })}
      <div class="form">
        ${missing.map(([name, field]) => explainedField({ ...field, name, value: '' }))}
        <p class="pager">
          <button class="danger">${labelOf(operation.verb.replace('-', ' '))}</button>
          <a class="button" href="${back}">Cancel</a>
        </p>
      </div>`,
  );
  return {
    title: operation.summary,
    body: html`${sheetOf(known)} ${form || html`<p class="empty">Only an operator can do this.</p>`}`,
  };
}
