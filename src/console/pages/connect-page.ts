import { html } from 'hono/html';
import { type AppError, httpStatusOf, toAppError } from '../../domain/errors.ts';
import { maskText } from '../../lib/mask.ts';
import { operationOf } from '../../operations/all.ts';
import { installPath } from '../../operations/paths.ts';
import { toWantedJobs } from '../../operator/connect/link-jobs.ts';
import { inputIn } from '../ask.ts';
import {
  type Act,
  type ConsoleContext,
  formOf,
  type Html,
  type Page,
  type PageRequest,
  type Redirect,
  type View,
} from '../page.ts';

/** To connect a customer, as `gangway connect` does. The token is never shown again. */
export const connectViews: readonly View[] = [{ path: '/connect', show: showConnect }];

// Its address has no page: a page with a problem stays until the operator leaves it.
export const connectActs: readonly Act[] = [{ path: '/connect/now', act: connect }];

function showConnect(request: PageRequest, ctx: ConsoleContext): Page {
  return connectPage(request, ctx, request.query);
}

/** @param given what was typed before; never the token */
function connectPage(
  request: PageRequest,
  { config }: ConsoleContext,
  given: URLSearchParams,
  problem?: AppError,
): Page {
  const only = config.tools.size === 1;
  const tools = [...config.tools.keys()];
  return {
    title: 'Connect a customer',
    status: problem === undefined ? 200 : httpStatusOf(problem.code),
    body: html`
      ${problem && html`<p role="alert" class="bad">${maskText(problem.message)}</p>`}
      ${
        request.operator.role === 'operator'
          ? html`<p>
              The customer makes a platform token at the marketplace, or you make a personal one for your own account.
              With it, Gangway reads the contracts. To connect an install again is harmless; with another token, the
              customer is connected again.
            </p>`
          : html`<p class="empty">Only an operator can connect a customer.</p>`
      }
      ${formOf(
        request,
        '/connect/now',
        html`<div class="sign-in">
          <label>Your name for the customer or the account<br /><input name="install" value="${given.get('install')}" required /></label>
          <label
            >What it is<br /><select name="source">
              <option value="">a customer’s platform, or what it is now</option>
              <option value="employer" ${given.get('source') === 'employer' ? html`selected` : ''}>my own account</option>
            </select></label
          >
          <label
            >Token<br /><input type="password" name="token" autocomplete="off" /><br /><span class="quiet"
              >Empty keeps the token that is stored.</span
            ></label
          >
          <label
            >Tool<br /><select name="tool">
              ${only || html`<option value="">as it is now</option>`}
              ${tools.map((tool) => html`<option value="${tool}" ${tool === given.get('tool') ? html`selected` : ''}>${tool}</option>`)}
            </select></label
          >
          <label
            >Projects of the customer<br /><input name="projects" value="${given.get('projects')}" /><br /><span
              class="quiet"
              >Ids or prefix*, separated by commas. Needed where another customer uses the tool.</span
            ></label
          >
          <label
            >Jobs of my own account<br /><input name="jobs" value="${given.get('jobs')}" /><br /><span class="quiet"
              >Whose people work in which project: job_1=street-signs, separated by commas.</span
            ></label
          >
          ${choices.map(([name, says]) => checkbox(name, says, given.has(name)))}
          <p><button class="main">Connect</button></p>
        </div>`,
      )}
    `,
  };
}

const choices: readonly (readonly [name: string, says: string])[] = [
  ['relink', 'Link projects again that were linked before the customer connected again'],
  ['move', 'Have events delivered here that are delivered elsewhere now'],
  ['acceptOrphans', 'Go on although nothing leads to some people in a tool any more: they are kept (accept orphans)'],
  ['acceptOtherCustomer', 'Go on although the install was another customer’s, whose people are then removed'],
];

function checkbox(name: string, says: string, isChecked: boolean): Html {
  return html`<label><input type="checkbox" name="${name}" ${isChecked ? html`checked` : ''} /> ${says}</label>`;
}

async function connect(request: PageRequest, ctx: ConsoleContext): Promise<Page | Redirect> {
  const { form, by, operator } = request;
  const operation = operationOf('installsConnect');
  try {
    const jobs = toWantedJobs(splitAt(form.get('jobs'), ','));
    const projects = splitAt(form.get('projects'), ',');
    // A list of one tool has no other choice, which the configuration has made already.
    if (ctx.config.installs.has(form.get('install') ?? '')) form.delete('tool');
    const given = new URLSearchParams([...form].filter(([name]) => name !== 'jobs' && name !== 'projects'));
    const input = inputIn(operation, given, { jobs, ...(projects.length > 0 && { projects }), wait: '0s' });
    const back = installPath(form.get('install') ?? '');
    const started = ctx.startedActs.begin(ctx, { operation, by, role: operator.role, back, input });
    await started.ended;
    if (started.outcome !== null && 'error' in started.outcome) throw started.outcome.error;
    return { redirect: `/started/${started.id}` };
  } catch (error) {
    const problem = toAppError(error);
    if (problem.code === 'internal') throw error;
    return connectPage(request, ctx, form, problem);
  }
}

function splitAt(text: string | null, separator: string): string[] {
  return (text ?? '')
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
