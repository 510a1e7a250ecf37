import { html } from 'hono/html';
import { type AppError, httpStatusOf, toAppError } from '../../domain/errors.ts';
import { maskText } from '../../lib/mask.ts';
import { operationOf } from '../../operations/all.ts';
import { toWantedJobs } from '../../operations/connect/settle-wish.ts';
import { fieldsOf } from '../../operations/input.ts';
import { installPath } from '../../operations/show.ts';
import { inputIn } from '../ask.ts';
import { type ConsoleContext, formOf, type Page, type PageRequest, type Redirect } from '../page.ts';
import { explainedField } from '../view/filter.ts';

const operation = operationOf('installsConnect');

/**
 * To connect a customer, as `gangway connect` does. The token is never shown again.
 *
 * @param given what was typed before
 */
export function showConnect(
  request: PageRequest,
  { config }: ConsoleContext,
  given: URLSearchParams = request.query,
  problem?: AppError,
): Page {
  const tools = [...config.tools.keys()];
  const fields = [...fieldsOf(operation.in)].flatMap(([name, field]) => {
    if (name === 'wait') return [];
    const choices = name === 'tool' ? { choices: tools, preset: tools.length === 1 ? tools[0] : undefined } : {};
    const description = hints[name] ?? field.description;
    return [explainedField({ ...field, ...choices, description, name, value: given.get(name) ?? '' })];
  });
  const form = formOf(
    request,
    '/connect/now',
    html`<div class="form">
      ${fields}
      <p><button class="main">Connect</button></p>
    </div>`,
  );
  return {
    title: 'Connect a customer',
    status: problem === undefined ? 200 : httpStatusOf(problem.code),
    body: html`
      ${problem && html`<p role="alert" class="bad">${maskText(problem.message)}</p>`}
      ${form === '' ? html`<p class="empty">Only an operator can connect a customer.</p>` : introduction} ${form}
    `,
  };
}

const introduction = html`<p>
  The customer makes a platform token at the marketplace, or you make a personal one for your own account. With it,
  Gangway reads the contracts. To connect an install again is harmless; with another token, the customer is connected
  again.
</p>`;

/** How lists are typed here. */
const hints: Readonly<Record<string, string>> = {
  projects: 'Ids or prefix*, separated by commas. Needed where another customer uses the tool.',
  jobs: 'Of your own account: whose people work in which project. job_1=street-signs, separated by commas.',
};

export async function connect(request: PageRequest, ctx: ConsoleContext): Promise<Page | Redirect> {
  const { form } = request;
  try {
    const given = new URLSearchParams(form);
    given.delete('jobs');
    // A list of one tool has no other choice, which the configuration has made already.
    if (ctx.config.installs.has(form.get('install') ?? '')) given.delete('tool');
    const jobs = (form.get('jobs') ?? '').split(',').map((text) => text.trim());
    const input = inputIn(operation, given, { jobs: toWantedJobs(jobs.filter((text) => text !== '')), wait: '0s' });
    const back = installPath(form.get('install') ?? '');
    const started = ctx.startedActs.begin(ctx, request, { operation, input, back });
    await started.ended;
    if (started.outcome !== null && 'error' in started.outcome) throw started.outcome.error;
    return { redirect: `/started/${started.id}` };
  } catch (error) {
    const problem = toAppError(error);
    if (problem.code === 'internal') throw error;
    return showConnect(request, ctx, form, problem);
  }
}
