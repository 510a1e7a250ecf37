import type { Response } from 'express';
import { html } from 'hono/html';
import type { Answer, Html, Page } from './page.ts';
import type { Session } from './sign-in/session.ts';

/** The sections of the console by group, in the order of the side bar: the title of each, by its path. */
const groups: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': { '/': 'Home' },
  People: {
    '/access': 'Access',
    '/invitations': 'Invitations',
    '/plans': 'Removals on hold',
    '/drift': 'Drift',
  },
  Work: { '/work': 'Work', '/budgets': 'Budgets' },
  Marketplace: { '/installs': 'Customers', '/contracts': 'Contracts', '/deliveries': 'Deliveries' },
  System: {
    '/notifications': 'Alerts',
    '/acts': 'Audit log',
    '/doctor': 'Doctor',
    '/settings': 'Settings',
  },
};

const titles = new Map(Object.values(groups).flatMap((sections) => Object.entries(sections)));

/** Pages below a section whose address does not begin with the section's. */
const belongsTo: Readonly<Record<string, string>> = {
  memberships: '/access',
  trainers: '/access',
  connect: '/installs',
  started: '/acts',
};

/** How many wait in a section, by its path. */
export type Counts = Readonly<Record<string, number>>;

interface Frame {
  path: string;
  /** Whether its address can be fetched again, like that of a view. */
  isLive?: boolean;
  /** Undefined before an operator has signed in. */
  session: Session | undefined;
  counts?: Counts;
  /** The outcome of the act before. */
  notice?: string | undefined;
}

/** A whole page. Without JavaScript it is complete; with it, `live.js` keeps what is in `main` up to date. */
function layOut(
  { title, body, note, acts, isStill = false }: Page,
  { path, isLive = false, session, counts = {}, notice }: Frame,
): Html {
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
        ${session && isLive && !isStill && html`<script src="/assets/live.js" type="module"></script>`}
      </head>
      <body class="${session ? '' : 'alone'}">
        <a class="skip" href="#main">Skip to the content</a>
        ${session && sideBar(section, counts)} ${session && topBar(session)}
        <main id="main" tabindex="-1">
          ${section !== path && titles.has(section) && breadcrumb(section, title)}
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

/** The path of the section that a page is below. */
function sectionOf(path: string): string {
  const [, first = ''] = path.split('/');
  return belongsTo[first] ?? `/${first}`;
}

/** On a phone it is a menu, which opens without a script. */
function sideBar(here: string, counts: Counts): Html {
  const links = Object.entries(groups).map(
    ([group, sections]) => html`
      ${group && html`<p class="group">${group}</p>`}
      <ul>
        ${Object.entries(sections).map(([path, title]) => linkTo(path, title, path === here, counts[path] ?? 0))}
      </ul>
    `,
  );
  return html`<nav class="side" aria-label="Sections">
    <p class="brand"><a href="/">Gangway</a></p>
    <div class="wide">${links}</div>
    <details class="narrow">
      <summary>Menu</summary>
      ${links}
    </details>
  </nav>`;
}

function linkTo(path: string, title: string, isHere: boolean, count: number): Html {
  const current = isHere ? html`aria-current="page"` : '';
  return html`<li><a href="${path}" ${current}>${title}${count > 0 && html` <span class="count">${count}</span>`}</a></li>`;
}

function topBar({ operator, csrf }: Session): Html {
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

function breadcrumb(section: string, title: string): Html {
  return html`<p class="quiet crumbs"><a href="${section}">${titles.get(section)}</a> / ${title}</p>`;
}

export async function send(response: Response, answer: Answer, frame: Frame): Promise<void> {
  if ('redirect' in answer) return response.redirect(303, answer.redirect);
  if ('content' in answer) {
    response.attachment(answer.fileName).type(answer.type);
    response.send(typeof answer.content === 'string' ? answer.content : Buffer.from(answer.content));
    return;
  }
  const { status = 200, refreshSeconds } = answer;
  if (refreshSeconds !== undefined) response.set('Refresh', String(refreshSeconds));
  response
    .status(status)
    .type('html')
    .send(String(await layOut(answer, frame)));
}
