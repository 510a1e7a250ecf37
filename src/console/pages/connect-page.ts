import { html } from 'hono/html';
import { nameRule, projectRule } from '../../config/text-rules.ts';
import { inTransaction } from '../../db/database.ts';
import { AppError, httpStatusOf, toAppError } from '../../domain/errors.ts';
import { findConnectedInstall } from '../../installs/install-store.ts';
import { maskText } from '../../lib/mask.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { type Established, establishInstall } from '../../operator/connect/connect-install.ts';
import { toWantedJobs, type WantedJob } from '../../operator/connect/link-jobs.ts';
import { type Connecting, settleWish, toToken } from '../../operator/connect/settle-wish.ts';
import { type Check, warning } from '../../operator/doctor-checks.ts';
import { wantRead } from '../../reconcile/read/install-state-store.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';

/** To connect a customer, as `gangway connect` does. The token is never shown again. */
export const connectViews: readonly View[] = [{ path: '/connect', show: showConnect }];

// Its address has no page: a page with a problem stays until the operator leaves it.
export const connectActs: readonly Act[] = [{ path: '/connect/now', act: connect }];

const patienceMs = 120_000;

function showConnect(asked: Asked, ctx: OperationContext): Page {
  return connectPage(asked, ctx, asked.query);
}

/** @param given what was typed before; never the token */
function connectPage(asked: Asked, { config }: OperationContext, given: URLSearchParams, problem?: AppError): Page {
  const only = config.tools.size === 1;
  const tools = [...config.tools.keys()];
  return {
    title: 'Connect a customer',
    status: problem === undefined ? 200 : httpStatusOf(problem.code),
    body: html`
      ${problem && html`<p role="alert" class="bad">${maskText(problem.message)}</p>`}
      ${
        asked.operator.role === 'operator'
          ? html`<p>
              The customer makes a platform token at the marketplace, or you make a personal one for your own account.
              With it, Gangway reads the contracts. To connect an install again is harmless; with another token, the
              customer is connected again.
            </p>`
          : html`<p class="empty">Only an operator can connect a customer.</p>`
      }
      ${formOf(
        asked,
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

async function connect(asked: Asked, ctx: OperationContext): Promise<Page | Redirect> {
  const install = textIn(asked.form, 'install') ?? '';
  const checks: Check[] = [];
  try {
    const wish = await toWish(asked, ctx, install);
    const established = await establish(asked, ctx, wish, checks);
    checks.push(...aboutLinks(established));
  } catch (error) {
    const problem = toAppError(error);
    if (problem.code === 'internal') throw error;
    return connectPage(asked, ctx, asked.form, problem);
  }
  const { actor, at } = asked.by;
  ctx.reports.set(`connect ${install}`, { by: actor, at, checks });
  return { redirect: `/installs/${encodeURIComponent(install)}` };
}

async function toWish({ form }: Asked, ctx: OperationContext, install: string): Promise<Connecting> {
  if (!nameRule.pattern.test(install)) throw new AppError('invalid', `The name of a customer: ${nameRule.says}`);
  const typed = textIn(form, 'token');
  const isConfigured = ctx.config.installs.has(install);
  const jobs = toJobs(textIn(form, 'jobs'));
  const { source, destination, configured } = settleWish(ctx, {
    install,
    source: textIn(form, 'source') === 'employer' ? 'employer' : undefined,
    jobs,
    hasToken: typed !== undefined,
    // A list with one tool has no other choice.
    tool: isConfigured ? undefined : textIn(form, 'tool'),
    projects: toProjects(textIn(form, 'projects')),
  });
  const stored = await findConnectedInstall(ctx, install);
  const token = configured ?? (typed === undefined ? stored?.token : toToken(typed));
  if (token === undefined) throw new AppError('invalid', `There is no token for ${install} yet: fill it in`);
  const [acceptsOrphans, acceptsOtherCustomer] = [form.has('acceptOrphans'), form.has('acceptOtherCustomer')];
  return { install, source, token, jobs, destination, acceptsOrphans, acceptsOtherCustomer };
}

function toJobs(text: string | undefined): WantedJob[] {
  return toWantedJobs(text?.split(',').map((job) => job.trim()) ?? []);
}

function toProjects(text: string | undefined): string[] | undefined {
  const projects = text?.split(',').map((pattern) => pattern.trim());
  const unfit = projects?.find((pattern) => !projectRule.pattern.test(pattern));
  if (unfit !== undefined) throw new AppError('invalid', `The projects of a customer: ${projectRule.says}`);
  return projects;
}

async function establish(
  { by, form }: Asked,
  ctx: OperationContext,
  wish: Connecting,
  checks: Check[],
): Promise<Established> {
  const connector = {
    registry: ctx.registry,
    by,
    mayMove: form.has('move'),
    confirm: async () => form.has('relink'),
    onStep: (check: Check) => void checks.push(check),
  };
  const established = await establishInstall(ctx, connector, wish, AbortSignal.timeout(patienceMs));
  await inTransaction(ctx.database, (tx) => wantRead(tx, [wish.install], by.at, 'operator'));
  return established;
}

function aboutLinks({ missing }: Established): Check[] {
  return missing.map(({ project, why }) =>
    warning('links', `${project} was linked before, and is not now: ${why}`, 'link it again below'),
  );
}

function textIn(form: URLSearchParams, name: string): string | undefined {
  return form.get(name)?.trim() || undefined;
}
