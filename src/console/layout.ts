import { html } from 'hono/html';
import type { Operator } from './operator.ts';
import type { Html } from './page.ts';

/** The sections of the console, in the order of the navigation. */
const sections: readonly (readonly [path: string, title: string])[] = [
  ['/', 'Home'],
  ['/access', 'Access'],
  ['/contracts', 'Contracts'],
  ['/installs', 'Installs'],
  ['/plans', 'Plans'],
  ['/drift', 'Drift'],
  ['/invitations', 'Invitations'],
  ['/work', 'Work'],
  ['/budgets', 'Budgets'],
  ['/deliveries', 'Deliveries'],
  ['/notifications', 'Notifications'],
  ['/acts', 'Audit log'],
  ['/doctor', 'Doctor'],
  ['/settings', 'Settings'],
];

export interface Frame {
  title: string;
  body: Html;
  path: string;
  /** Whether its address shows the same when it is fetched again, as that of a view does. */
  isLive: boolean;
  /** Undefined before an operator has signed in. */
  session: { operator: Operator; csrf: string } | undefined;
}

/** A whole page. Without JavaScript it is complete; with it, `live.js` keeps what is in `main` up to date. */
export function layOut({ title, body, path, isLive, session }: Frame): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Gangway</title>
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/style.css" />
        <link rel="stylesheet" href="/assets/chart.css" />
        <link rel="stylesheet" href="/assets/table.css" />
        ${session && isLive && html`<script src="/assets/live.js" type="module"></script>`}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <p class="brand"><a href="/">Gangway</a></p>
          ${session && navigation(path)} ${session && signedIn(session)}
        </header>
        <main id="main" tabindex="-1">
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`;
}

function navigation(path: string): Html {
  const links = sections.map(([href, title]) => {
    const isHere = href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`);
    return html`<li><a href="${href}" ${isHere ? html`aria-current="page"` : ''}>${title}</a></li>`;
  });
  return html`<nav aria-label="Sections">
    <ul>
      ${links}
    </ul>
  </nav>`;
}

function signedIn({ operator, csrf }: NonNullable<Frame['session']>): Html {
  return html`<form class="who" method="post" action="/sign-out">
    <input type="hidden" name="csrf" value="${csrf}" />
    <span>${operator.name} (${operator.role})</span>
    <button>Sign out</button>
  </form>`;
}
