import { html } from 'hono/html';
import { writeAudit } from '../../db/audit-store.ts';
import { inTransaction } from '../../db/database.ts';
import { toInstant } from '../../lib/clock.ts';
import { loadStatus, toMailed } from '../../operator/load-status.ts';
import { createInstallStateStore } from '../../reconcile/read/install-state-store.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** What needs a person now, and the health of both ends. */
export const homeViews: readonly View<ConsoleParts>[] = [{ path: '/', show: showHome }];

/** As by the schedule; whatever is found is applied, and the brake holds what would be too much. */
export const homeActs: readonly Act<ConsoleParts>[] = [{ path: '/read-now', act: readNow }];

const dayMs = 86_400_000;

async function showHome(asked: Asked, { database, installs, config, clock }: ConsoleParts): Promise<Page> {
  const now = clock.now();
  const since = toInstant(new Date(now.getTime() - dayMs));
  const status = await loadStatus(database, since, installs, toMailed(config, toInstant(now)));
  return {
    title: 'Home',
    body: html`
      <h2>What needs a person now</h2>
      ${attentionOf(status.attention)}
      <h2>Installs</h2>
      ${tableOf('When each customer was read', status.installs, installColumns, 'No customer is connected: gangway connect')}
      ${installs.size > 0 && formOf(asked, '/read-now', html`<button>Read every customer now</button>`)}
      <h2>Tools</h2>
      ${tableOf('How many memberships are in which state', status.memberships, memberColumns, noMembers)}
    `,
  };
}

async function readNow({ by }: Asked, { database, installs }: ConsoleParts): Promise<Redirect> {
  const names = [...installs.keys()].sort();
  const { wantRead } = createInstallStateStore(database);
  await inTransaction(database, async (tx) => {
    await wantRead(tx, names, by.at, 'command');
    await writeAudit(tx, by, 'reconcile', names.join(', '));
  });
  return { redirect: '/' };
}

type Status = Awaited<ReturnType<typeof loadStatus>>;

const noMembers = 'There are no memberships yet. They appear when a contract begins whose job is linked to a project.';

function attentionOf(attention: Status['attention']): Html {
  if (attention.length === 0) return html`<p class="empty">Nothing does.</p>`;
  return html`<ul class="cards">
    ${attention.map(
      ({ says, action }) =>
        html`<li>
          <p class="warn">${says}</p>
          <p class="quiet">${action}</p>
        </li>`,
    )}
  </ul>`;
}

const installColumns: readonly Column<Status['installs'][number]>[] = [
  ['install', ({ install }) => install],
  ['last read', ({ readBeganAt }) => instantOf(readBeganAt)],
  ['trouble', ({ failure }) => failure ?? ''],
];

const memberColumns: readonly Column<Status['memberships'][number]>[] = [
  ['tool', ({ tool }) => tool],
  ['state', ({ state }) => state],
  ['memberships', ({ count }) => count, 'number'],
];
