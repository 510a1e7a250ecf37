import { html } from 'hono/html';
import { operationOf } from '../../../operations/all.ts';
import { toWantedJobs } from '../../../operations/connect.ts';
import { type Guideline, guidelineColumns } from '../../../operations/guidelines.ts';
import { fieldsOf } from '../../../operations/input.ts';
import { type InstallInFull, linkColumns, peopleColumns } from '../../../operations/installs.ts';
import { installPath } from '../../../operations/show.ts';
import { healthOf } from '../../../operations/status.ts';
import { type ConsoleContext, formOf, type Html, type Page, type PageRequest, type Redirect } from '../page.ts';
import { actButton, ask, askLink, inputIn } from '../run-operation.ts';
import { explainedField } from '../view/form.ts';
import { instantOf, panelOf, sheetOf, stateBadge, tableOf } from '../view/table.ts';

/** One customer: the people, the links, the webhook endpoint and the token. */
export async function showInstall(request: PageRequest, ctx: ConsoleContext): Promise<Page | Redirect> {
  const { install } = request.params;
  // Somebody may type this address to connect a customer, but a customer may also have this name.
  if (install === 'connect' && !ctx.installs.has('connect')) return { redirect: '/connect' };
  const isLive = request.query.has('live');
  const found = await ask<InstallInFull>(request, ctx, 'installsShow', { install, stored: !isLive });
  const { tool, projects, livesIn, readAt, troubles, people, links, endpoint, scopes, isOwnAccount } = found;
  const given = { install: found.install };
  return {
    title: found.install,
    note: stateBadge(healthOf(found)),
    acts: actButton(request, 'reconcileNow', given, { label: 'Sync now' }),
    isStill: isLive,
    body: html`
      ${troubles.map((says) => html`<p class="bad">${says}</p>`)}
      ${sheetOf([
        ['tool', `${tool}, projects ${projects.join(', ')}`],
        ['source', livesIn],
        ['last read', instantOf(readAt) || 'not yet'],
        ['token scopes', isLive && (scopes?.join(', ') ?? 'The marketplace did not say.')],
      ])}
      ${panelOf('People', tableOf('People by state', people, peopleColumns, 'Nobody is in a tool by this customer yet.'), html`<a href="/access?${new URLSearchParams(given)}">All of them</a>`)}
      ${panelOf(
        'Links',
        html`${tableOf('Linked projects, as last read', links, linkColumns, noLinks, request.operator.role === 'operator' ? [['act', ({ linkId, project }) => askLink(request, 'linksRemove', { ...given, link: linkId }, `Unlink ${project ?? ''}`)]] : [])}
          ${actButton(request, 'linksAdd', given, { label: 'Link the project', fields: linkFields })}`,
      )}
      ${found.hasGuidelines && (await guidelinesOf(request, ctx, given))}
      ${panelOf('Webhook endpoint', endpointOf(endpoint), endpoint === null ? '' : askLink(request, 'endpointRotate', given, 'Rotate the secret'))}
      <p class="acts">
        ${!isLive && html`<a href="${request.path}?live=true">Ask the marketplace about token and endpoint</a>`}
        ${isOwnAccount && askLink(request, 'tokenRotate', given, 'Rotate the token')}
        ${livesIn === 'database' && askLink(request, 'installsRemove', given, 'Remove this customer', '/installs')}
      </p>
    `,
  };
}

const noLinks = 'No project is linked. Link one to a job, and it appears here after the next reading.';

const linkFields = html`<span class="filter">
  <label>Project <input name="project" required /></label>
  <label>Job <input name="job" required /></label>
</span>`;

/** Only your own accounts have guidelines. */
async function guidelinesOf(request: PageRequest, ctx: ConsoleContext, given: { install: string }): Promise<Html> {
  const { guidelines } = await ask<{ guidelines: Guideline[] }>(request, ctx, 'guidelinesList', given);
  return panelOf(
    'Guidelines',
    tableOf('The guidelines of each project in the tool', guidelines, guidelineColumns, 'No project was checked yet.'),
    askLink(request, 'guidelinesSync', given, 'Sync the guidelines now'),
  );
}

function endpointOf(endpoint: InstallInFull['endpoint']): Html {
  if (endpoint === null) {
    return html`<p class="empty">
      The configuration has no receiver.publicUrl, so nothing is delivered. The customer is read by the schedule instead.
    </p>`;
  }
  const { url, status, consecutiveFailures, missingEventTypes, checkedAt, trouble, action, failure } = endpoint;
  return html`
    ${(failure ?? trouble) && html`<p class="bad">${failure ?? trouble}</p>`} ${action && html`<p>${action}</p>`}
    ${sheetOf([
      ['delivers to', url],
      ['status', status && stateBadge(status.toLowerCase())],
      ['failures in a row', consecutiveFailures],
      ['missing event types', missingEventTypes?.join(', ')],
      ['last checked', instantOf(checkedAt) || 'not yet'],
    ])}
  `;
}

const operation = operationOf('installsConnect');

/** The form to connect a customer, as `gangway connect` does. The token is never shown again. */
export function showConnect(request: PageRequest, { config }: ConsoleContext): Page {
  const values = request.form.size > 0 ? request.form : request.query;
  const tools = [...config.tools.keys()];
  const fields = [...fieldsOf(operation.in)].flatMap(([name, field]) => {
    if (name === 'wait') return [];
    const choices = name === 'tool' ? { choices: tools, preset: tools.length === 1 ? tools[0] : undefined } : {};
    const description = hints[name] ?? field.description;
    return [explainedField({ ...field, ...choices, description, name, value: values.get(name) ?? '' })];
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
    body: html`
      ${form === '' ? html`<p class="empty">Only an operator can connect a customer.</p>` : introduction} ${form}
    `,
  };
}

const introduction = html`<p>
  The customer creates a platform token at the marketplace, or you create a personal one for your own account. Gangway
  reads the contracts with it. Connecting an install again is harmless. With another token, the customer is reconnected.
</p>`;

/** How to enter lists in this form. */
const hints: Readonly<Record<string, string>> = {
  projects: 'Ids or prefix*, separated by commas. Required if another customer uses the tool.',
  jobs: 'For your own account: which job belongs to which project, such as job_1=street-signs, separated by commas.',
};

export async function connect(request: PageRequest, ctx: ConsoleContext): Promise<Redirect> {
  const { form } = request;
  const fields = new URLSearchParams(form);
  fields.delete('jobs');
  // The form preselects the only tool, but the configuration already names the tool of a configured install.
  if (ctx.config.installs.has(form.get('install') ?? '')) fields.delete('tool');
  const jobs = (form.get('jobs') ?? '').split(',').map((text) => text.trim());
  const input = inputIn(operation, fields, { jobs: toWantedJobs(jobs.filter((text) => text !== '')), wait: '0s' });
  const back = installPath(form.get('install') ?? '');
  const started = ctx.startedActs.begin(ctx, request, { operation, input, back });
  await started.ended;
  if (started.outcome !== null && 'error' in started.outcome) throw started.outcome.error;
  return { redirect: `/started/${started.id}` };
}
