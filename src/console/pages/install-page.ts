import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import type { LinkEvidence } from '../../domain/evidence.ts';
import { statusOfLink } from '../../domain/evidence-status.ts';
import type { Install } from '../../domain/install.ts';
import { liveLinksOf } from '../../evidence/link-store.ts';
import { listGuidelines } from '../../guidelines/guideline-store.ts';
import { takesGuidelines } from '../../guidelines/read-targets.ts';
import { findSubscription } from '../../installs/subscription/subscription-store.ts';
import { maskText } from '../../lib/mask.ts';
import { outsideOf } from '../../memberships/wall.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { explainCrossing } from '../../operator/explain-crossing.ts';
import { type ListedInstall, listInstalls } from '../../operator/list-installs.ts';
import { type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { badgeOf } from '../view/badge.ts';
import { reportOf } from '../view/checks.ts';
import { guidelinesSection } from '../view/guidelines-section.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** Each customer: how they are read, where their links lead, and whether their events are delivered. */
export const installViews: readonly View[] = [
  { path: '/installs', show: showInstalls },
  { path: '/installs/:name', show: showInstall },
];

async function showInstalls({ operator }: Asked, ctx: OperationContext): Promise<Page> {
  const rows = await listInstalls(ctx, [...ctx.installs].sort());
  return {
    title: 'Customers',
    acts: operator.role === 'operator' ? html`<a class="button main" href="/connect">Connect a customer</a>` : '',
    body: html`
      ${tableOf('The customers that are connected', rows, columns, 'No customer is connected yet: connect one with their token.')}
    `,
  };
}

const columns: readonly Column<ListedInstall>[] = [
  ['Customer', ({ install }) => html`<a href="${pathOf(install)}">${install}</a>`],
  ['Tool', ({ tool }) => tool],
  ['Projects', ({ projects }) => projects.join(', ')],
  ['Last read', ({ readAt }) => instantOf(readAt) || 'not yet'],
  ['State', healthOf],
  ['Source', ({ livesIn }) => livesIn],
];

/** Healthy only if the marketplace, the endpoint, the tool and the people are. */
export function healthOf({ readAt, troubles }: ListedInstall): Html {
  if (troubles.length > 0) return html`${badgeOf('Trouble', 'bad')}<small>${troubles.join('; ')}</small>`;
  return readAt === null ? badgeOf('Not read yet', 'warn') : badgeOf('Healthy', 'good');
}

async function showInstall(asked: Asked, ctx: OperationContext): Promise<Page | Redirect> {
  // An address that is easily typed; a customer may be called so too.
  if (asked.params['name'] === 'connect' && !ctx.installs.has('connect')) return { redirect: '/connect' };
  const { name, install } = findInstall(asked, ctx);
  const { reports } = ctx;
  const [listed] = await listInstalls(ctx, [[name, install]]);
  const links = (await liveLinksOf(ctx, name)).filter((link) => statusOfLink(link) === 'live');
  const report = reports.get(`connect ${name}`);
  return {
    title: name,
    note: listed && healthOf(listed),
    acts: formOf(asked, `${pathOf(name)}/read`, html`<button>Sync now</button>`),
    body: html`
      <dl class="sheet">
        <dt>Tool</dt>
        <dd>${install.tool}, projects ${install.projects.join(', ')}</dd>
        <dt>Source</dt>
        <dd>${install.livesIn}</dd>
        <dt>Last read</dt>
        <dd>${instantOf(listed?.readAt) || 'not yet'}</dd>
      </dl>
      <h2>Links</h2>
      ${tableOf('The projects that are linked to jobs, as last read', links, linkColumns(asked, ctx, name), noLinks)}
      ${linkForm(asked, name)}
      ${await guidelinesOf(asked, ctx, name)}
      <h2>Webhook endpoint</h2>
      ${await endpointOf(asked, ctx, name)}
      ${tokenOf(asked, ctx, name)}
      ${report && html`<h2>What connecting found</h2>${reportOf('What connecting found', report)}`}
      ${
        asked.operator.role === 'operator' && install.livesIn === 'database'
          ? html`<p><a class="danger" href="${pathOf(name)}/remove">Remove this customer</a></p>`
          : ''
      }
    `,
  };
}

const noLinks = 'No project is linked. Link one to a job, and it appears here after the next reading.';

/** @throws AppError `not_found` */
export function findInstall({ params }: Asked, { installs }: OperationContext): { name: string; install: Install } {
  const name = params['name'] ?? '';
  const install = installs.get(name);
  if (install === undefined) throw new AppError('not_found', 'There is no such install');
  return { name, install };
}

export function pathOf(name: string): string {
  return `/installs/${encodeURIComponent(name)}`;
}

function linkColumns({ operator }: Asked, ctx: OperationContext, name: string): readonly Column<LinkEvidence>[] {
  return [
    ['Project', ({ externalProjectId }) => maskText(externalProjectId ?? '')],
    ['Name', ({ externalProjectName }) => maskText(externalProjectName ?? '')],
    ['Job', ({ jobId }) => jobId ?? '(none)'],
    ['Leads', (link) => leadsOf(link, ctx)],
    ...(operator.role === 'operator' ? [['Act', (link: LinkEvidence) => unlinkOf(link, name)] as const] : []),
  ];
}

function leadsOf(link: LinkEvidence, ctx: OperationContext): Html | string {
  const outside = outsideOf(ctx, link);
  if (outside !== null) return html`<span class="warn">nowhere: ${explainCrossing(outside, link).says}</span>`;
  const route = ctx.routeLink(link);
  return route === undefined ? 'not here' : `${route.tool}, group ${maskText(route.groupId)}`;
}

function unlinkOf({ linkId, externalProjectId }: LinkEvidence, name: string): Html {
  return html`<a href="${pathOf(name)}/unlink/${encodeURIComponent(linkId)}">Unlink<span class="hidden"> ${maskText(externalProjectId ?? '')}</span></a>`;
}

function linkForm(asked: Asked, name: string): Html | string {
  return formOf(
    asked,
    `${pathOf(name)}/link`,
    html`<div class="filter">
      <label>Project <input name="project" required /></label>
      <label>Job <input name="job" required /></label>
      <button>Link the project</button>
    </div>`,
  );
}

/** Only an account of one's own has tokens that can be replaced from here. */
function tokenOf({ operator }: Asked, ctx: OperationContext, name: string): Html | string {
  const isOwn = ctx.sources.get(name)?.createToken !== undefined;
  if (!isOwn || operator.role !== 'operator') return '';
  return html`<h2>Token</h2>
    <p><a href="${pathOf(name)}/token">Rotate the token</a></p>`;
}

/** Only an account of its own has manuals. */
async function guidelinesOf(asked: Asked, ctx: OperationContext, name: string): Promise<Html | string> {
  if (!takesGuidelines(ctx, name)) return '';
  const rows = (await listGuidelines(ctx)).filter(({ install }) => install === name);
  return guidelinesSection(asked, rows, `${pathOf(name)}/guidelines`);
}

async function endpointOf({ operator }: Asked, ctx: OperationContext, name: string): Promise<Html> {
  if (ctx.config.receiver.publicUrl === undefined) {
    return html`<p class="empty">
      Nothing is delivered without receiver.publicUrl in the configuration: the install is read on the schedule instead.
    </p>`;
  }
  const { checkedAt, trouble } = await findSubscription(ctx, name);
  return html`
    ${trouble && html`<p class="bad">${trouble.says}</p><p>${trouble.action}</p>`}
    <p>Last checked: ${instantOf(checkedAt) || 'not yet'}</p>
    ${operator.role === 'operator' ? html`<p><a href="${pathOf(name)}/rotate">Rotate the secret</a></p>` : ''}
  `;
}
