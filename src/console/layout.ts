import { html } from 'hono/html';
import type { Operator } from './operator.ts';
import type { Html } from './page.ts';

type Section = readonly [path: string, title: string];

/** The sections of the console by group, in the order of the side bar. */
const groups: readonly (readonly [group: string, sections: readonly Section[]])[] = [
  ['', [['/', 'Home']]],
  [
    'People',
    [
      ['/access', 'Access'],
      ['/invitations', 'Invitations'],
      ['/plans', 'Removals on hold'],
      ['/drift', 'Drift'],
    ],
  ],
  [
    'Work',
    [
      ['/work', 'Work'],
      ['/budgets', 'Budgets'],
    ],
  ],
  [
    'Marketplace',
    [
      ['/installs', 'Customers'],
      ['/contracts', 'Contracts'],
      ['/deliveries', 'Deliveries'],
    ],
  ],
  [
    'System',
    [
      ['/notifications', 'Alerts'],
      ['/acts', 'Audit log'],
      ['/doctor', 'Doctor'],
      ['/settings', 'Settings'],
    ],
  ],
];

/** Pages below a section whose address does not begin with the section's. */
const belongsTo: Readonly<Record<string, string>> = {
  memberships: '/access',
  trainers: '/access',
  connect: '/installs',
  started: '/acts',
};

/** How many wait in a section, by its path. */
export type Counts = Readonly<Record<string, number>>;

export interface Frame {
  title: string;
  body: Html;
  /** Beside the title. */
  note?: Html | undefined;
  acts?: Html | string;
  path: string;
  /** Whether its address shows the same when it is fetched again, as that of a view does. */
  isLive: boolean;
  /** Undefined before an operator has signed in. */
  session: { operator: Operator; csrf: string } | undefined;
  counts: Counts;
  notice?: string | undefined;
}

/** A whole page. Without JavaScript it is complete; with it, `live.js` keeps what is in `main` up to date. */
export function layOut({ title, body, note, acts, path, isLive, session, counts, notice }: Frame): Html {
  const section = sectionOf(path);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Gangway</title>
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/style.css" />
        <link rel="stylesheet" href="/assets/parts.css" />
        <link rel="stylesheet" href="/assets/table.css" />
        ${session && html`<script src="/assets/page.js" type="module"></script>`}
        ${session && isLive && html`<script src="/assets/live.js" type="module"></script>`}
      </head>
      <body class="${session ? '' : 'alone'}">
        <a class="skip" href="#main">Skip to the content</a>
        ${session && sideBar(section, counts)} ${session && topBar(session)}
        <main id="main" tabindex="-1">
          ${section !== undefined && section[0] !== path && breadcrumb(section, title)}
          <div class="head">
            <h1>${title}</h1>
            ${note} ${acts && html`<div class="acts">${acts}</div>`}
          </div>
          ${notice && html`<p role="status" class="good">${notice}</p>`}
          ${body}
        </main>
      </body>
    </html>`;
}

function sectionOf(path: string): Section | undefined {
  const [, first = ''] = path.split('/');
  const root = belongsTo[first] ?? `/${first}`;
  return groups.flatMap(([, sections]) => sections).find(([href]) => href === root);
}

/** On a phone it is a menu, which opens without a script. */
function sideBar(section: Section | undefined, counts: Counts): Html {
  const links = groups.map(([group, sections]) => linksOf(group, sections, section, counts));
  return html`<nav class="side" aria-label="Sections">
    <p class="brand"><a href="/">Gangway</a></p>
    <div class="wide">${links}</div>
    <details class="narrow">
      <summary>Menu</summary>
      ${links}
    </details>
  </nav>`;
}

function linksOf(group: string, sections: readonly Section[], here: Section | undefined, counts: Counts): Html {
  const items = sections.map(([href, title]) => {
    const count = counts[href] ?? 0;
    return html`<li>
      <a href="${href}" ${here?.[0] === href ? html`aria-current="page"` : ''}
        >${title}${count > 0 && html` <span class="count">${count}</span>`}</a
      >
    </li>`;
  });
  return html`${group !== '' && html`<p class="group">${group}</p>`}
    <ul>
      ${items}
    </ul>`;
}

function topBar({ operator, csrf }: NonNullable<Frame['session']>): Html {
  return html`<header class="top">
    <form class="search" role="search" action="/search">
      <input type="search" name="q" placeholder="Search people, contracts, projects   /" aria-label="Search" maxlength="200" />
    </form>
    <form class="who" method="post" action="/sign-out">
      <input type="hidden" name="csrf" value="${csrf}" />
      <span>${operator.name} · ${operator.role}</span>
      <button>Sign out</button>
    </form>
  </header>`;
}

function breadcrumb([href, section]: Section, title: string): Html {
  return html`<p class="quiet crumbs"><a href="${href}">${section}</a> / ${title}</p>`;
}
