import { html } from 'hono/html';
import { toAppError } from '../../../domain/errors.ts';
import { maskText } from '../../../lib/mask.ts';
import { DraftUpdate } from '../../../marketplace/contract/jobs.ts';
import { type Draft, type Proposal, type ProposalInFull, proposalColumns } from '../../../operations/hire.ts';
import { type Milestone, milestoneColumns } from '../../../operations/milestones.ts';
import { contractPath, jobPath } from '../../../operations/show.ts';
import { type Act, type ConsoleContext, formOf, type Html, type Page, type PageRequest, type View } from '../page.ts';
import { actButton, ask, askLink, orAgain } from '../run-operation.ts';
import { labelOf, panelOf, sheetOf, tableOf } from '../view/table.ts';

/** From the text of a job to a hire, and the milestones of its contract. */

function showNew(request: PageRequest, { sources }: ConsoleContext): Page {
  const { form } = request;
  const own = [...sources].flatMap(([install, { call }]) => (call === undefined ? [] : [install]));
  const fields = html`<div class="form">
    <label>Your account ${selectOf('install', own, form)}</label>
    <label>Project in your tool <input name="project" value="${form.get('project')}" required maxlength="500" /></label>
    <label>Description <textarea name="text" rows="16" required maxlength="60000">${form.get('text')}</textarea></label>
    <p><button class="main">Draft the job</button></p>
  </div>`;
  const none = html`<p class="empty">No account of your own is connected. <a href="/connect">Connect one</a> to hire from here.</p>`;
  return {
    title: 'New hire',
    body: html`<p>Describe the work. The first line is the title. Nothing is published yet.</p>
      ${own.length === 0 ? none : formOf(request, request.path, fields) || html`<p class="empty">Only an operator can hire.</p>`}`,
  };
}

function selectOf(name: string, choices: readonly string[], form: URLSearchParams, say = (one: string) => one) {
  return html`<select name="${name}">${choices.map((one) => html`<option value="${one}" ${one === form.get(name) ? html`selected` : ''}>${say(one)}</option>`)}</select>`;
}

const sayChoice = (one: string) => labelOf(one.toLowerCase().replaceAll('_', ' '));

/** What the address names. Nothing has an empty name. */
function givenIn({ params, query }: PageRequest): Record<string, string> & { install: string } {
  return { ...params, install: query.get('install') || '(none)' };
}

/** A draft and what it is missing, or a published job and its proposals. */
async function showJob(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const given = givenIn(request);
  const draft = await ask<Draft>(request, ctx, 'hireJob', given);
  const { jobId, title, project, missing, publishedAt, jobUrl } = draft;
  const publish = { label: 'Publish', tone: 'main', about: 'Publish, and link it to the project' } as const;
  return {
    title,
    acts: missing.length === 0 && publishedAt === null ? actButton(request, 'hirePublish', given, publish) : '',
    isStill: true,
    body: html`
      ${sheetOf([
        ['job', jobId],
        ['project', project],
        ['account', given.install],
        ['at the marketplace', jobUrl && html`<a href="${jobUrl}">${jobUrl}</a>`],
      ])}
      ${publishedAt === null ? panelOf(missing.length > 0 ? 'What is missing' : 'Nothing is missing', answerForm(request, draft)) : panelOf('Proposals', await proposalsOf(request, ctx, given))}
    `,
  };
}

/** What is missing. If nothing is, another field can be changed, because the marketplace may refuse to publish the job. */
function answerForm(request: PageRequest, { missing, ...draft }: Draft): Html {
  const { form } = request;
  const change = html`<label>Change a field ${selectOf('other', ['', ...Object.keys(DraftUpdate.shape)], form)}</label>
    <label>Its new value <textarea name="value" rows="6" maxlength="60000">${form.get('value')}</textarea></label>`;
  const inputOf = (name: string, choices: string[] | null) =>
    choices === null
      ? html`<input name="${name}" value="${form.get(name)}" maxlength="60000" />`
      : selectOf(name, ['', ...choices], form, sayChoice);
  const fields = html`<div class="form">
    ${missing.flatMap(({ says, keys, choices }) => keys.map((key) => html`<label>${says} ${inputOf(`set.${key}`, choices)}</label>`))}
    ${missing.length === 0 && change}
    <p><button class="main">Save</button></p>
  </div>`;
  return html`${formOf(request, jobPath(draft), fields) || missing.map(({ says }) => html`<p class="sub">${says}</p>`)}`;
}

async function proposalsOf(request: PageRequest, ctx: ConsoleContext, given: { install: string }): Promise<Html> {
  const { install } = given;
  const none = 'Nobody has proposed to do this job yet. Reload the page later.';
  const open = ({ id }: Proposal) =>
    html`<a href="/hires/proposals/${encodeURIComponent(id)}?${new URLSearchParams({ install })}">Read and hire</a>`;
  return await ask<{ items: Proposal[] }>(request, ctx, 'hireProposals', given).then(
    ({ items }) => tableOf('Proposals, the best interview first', items, proposalColumns, none, [['to do', open]]),
    (error: unknown) => html`<p class="bad">${maskText(toAppError(error).message)}</p>`,
  );
}

async function showProposal(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const given = givenIn(request);
  const found = await ask<ProposalInFull>(request, ctx, 'hireProposal', given);
  const { id, jobId, name, coverLetter, summary, messages } = found;
  return {
    title: name ?? id,
    acts: askLink(request, 'hireConfirm', given, 'Hire', '/hires'),
    isStill: true,
    body: html`
      ${tableOf('The proposal', [found], proposalColumns, '')}
      ${sheetOf([
        ['job', jobId && html`<a href="${jobPath({ install: given.install, jobId })}">${jobId}</a>`],
        ['cover letter', coverLetter],
        ['summary', summary],
      ])}
      ${panelOf('AI interview', html`${sheetOf(messages.map(({ role, content }) => [role, content])) || html`<p class="empty">There is no transcript.</p>`}`)}
    `,
  };
}

async function showMilestones(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const given = givenIn(request);
  const { install, contract = '' } = given;
  const { items } = await ask<{ items: Milestone[] }>(request, ctx, 'milestonesList', given);
  const actsOf = ({ id: milestone, status }: Milestone) => {
    if (status === 'NOT_FUNDED') return askLink(request, 'milestonesFund', { ...given, milestone }, 'Fund');
    return status === 'ACTIVE_FUNDED' ? askLink(request, 'milestonesApprove', { ...given, milestone }, 'Approve') : '';
  };
  return {
    title: 'Milestones',
    acts: html`
      ${askLink(request, 'milestonesCreate', given, 'Create a milestone')}
      ${askLink(request, 'budgetsTopUp', { install }, 'Top up the credits')}
      ${askLink(request, 'hireEnd', given, 'End the contract', contractPath(contract))}
    `,
    isStill: true,
    body: html`
      <p>Contract <a href="${contractPath(contract)}">${contract}</a> of ${install}. A person confirms each payment at the marketplace.</p>
      ${tableOf('Milestones', items, milestoneColumns, 'The contract has no milestone yet.', [['to do', actsOf]])}
    `,
  };
}

export const hireViews: readonly View[] = [
  { path: '/hires/new', show: showNew },
  { path: '/hires/jobs/:job', show: showJob },
  { path: '/hires/proposals/:proposal', show: showProposal },
  { path: '/hires/contracts/:contract', show: showMilestones },
];

export const hireActs: readonly Act[] = [
  {
    path: '/hires/new',
    act: orAgain(showNew, async (request, ctx) => {
      const { csrf: _, ...described } = Object.fromEntries(request.form);
      const drafted = await ask<Draft>(request, ctx, 'hireDraft', described);
      return { redirect: jobPath(drafted), notice: 'The job is drafted.' };
    }),
  },
  {
    path: '/hires/jobs/:job',
    act: orAgain(showJob, async (request, ctx) => {
      const { other = '', value = '', ...fields } = Object.fromEntries(request.form);
      const set = Object.entries({ ...fields, [`set.${other}`]: value }).flatMap(([name, given]) =>
        name.startsWith('set.') && given !== '' ? [`${name.slice(4)}=${given}`] : [],
      );
      const answered = await ask<Draft>(request, ctx, 'hireAnswer', { ...givenIn(request), set });
      return { redirect: jobPath(answered), notice: 'The draft is saved.' };
    }),
  },
];
