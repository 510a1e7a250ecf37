import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type Response, Router } from 'express';
import helmet from 'helmet';
import { html } from 'hono/html';
import type { Answer, Html, Page } from './page.ts';
import type { Session } from './sign-in.ts';

/** The sections of the side bar, in order: by group, the title of each path. */
const groups: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': { '/': 'Home' },
  People: { '/access': 'Access', '/invitations': 'Invitations', '/plans': 'Removals on hold', '/drift': 'Drift' },
  Hiring: { '/hires': 'Hires' },
  Work: { '/work': 'Work', '/budgets': 'Budgets' },
  Marketplace: { '/installs': 'Customers', '/contracts': 'Contracts', '/deliveries': 'Deliveries' },
  System: { '/notifications': 'Alerts', '/acts': 'Audit log', '/doctor': 'Doctor', '/settings': 'Settings' },
};

const titles = new Map(Object.values(groups).flatMap((sections) => Object.entries(sections)));

/** The section of pages whose address does not begin with their section's. */
const belongsTo: Readonly<Record<string, string>> = {
  memberships: '/access',
  trainers: '/access',
  connect: '/installs',
  started: '/acts',
};

/** How many things wait for an operator in a section, by its path. */
export type Counts = Readonly<Record<string, number>>;

interface Frame {
  path: string;
  /** Whether a script may fetch the address again. */
  isLive?: boolean;
  /** Undefined before an operator has signed in. */
  session: Session | undefined;
  counts?: Counts;
  /** The outcome of the previous act. */
  notice?: string | undefined;
}

/** A whole page. It works without JavaScript; with it, `live.js` keeps the content of `main` up to date. */
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

/** The path of a page's section. */
function sectionOf(path: string): string {
  const [, first = ''] = path.split('/');
  return belongsTo[first] ?? `/${first}`;
}

/** On a phone it becomes a menu, which needs no script. */
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
    response.attachment(answer.fileName).type(answer.type).send(answer.content);
    return;
  }
  const { status = 200, refreshSeconds } = answer;
  if (refreshSeconds !== undefined) response.set('Refresh', String(refreshSeconds));
  response
    .status(status)
    .type('html')
    .send(String(await layOut(answer, frame)));
}

/** The files that pages load, in `assets` beside this file or beside the bundle. */
const assets = ['style.css', 'parts.css', 'table.css', 'live.js', 'page.js', 'icon.svg'];

export function createAssets(): Router {
  const fileOf = (name: string) => fileURLToPath(new URL(`assets/${name}`, import.meta.url));
  const files = new Map(assets.map((name) => [name, fileOf(name)]));
  // The bundle has a copy of it.
  const copy = fileOf('idiomorph.js');
  const source = 'idiomorph/dist/idiomorph.esm.js';
  files.set('idiomorph.js', existsSync(copy) ? copy : createRequire(import.meta.url).resolve(source));
  const router = Router();
  for (const [name, file] of files) {
    router.get(`/assets/${name}`, (_request, response) => {
      response.set('Cache-Control', 'public, max-age=300');
      // The files are small, so a request for a range gets all of it.
      response.sendFile(file, { acceptRanges: false, cacheControl: false });
    });
  }
  return router;
}

const none = ["'none'"];
const self = ["'self'"];

/** Pages load nothing from other sites, run no inline script, and cannot be framed. */
export const securityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: none,
      scriptSrc: self,
      styleSrc: self,
      imgSrc: self,
      connectSrc: self,
      formAction: self,
      baseUri: none,
      frameAncestors: none,
    },
  },
  xFrameOptions: { action: 'deny' },
  // With a stricter policy, browsers would not send the origin of a form, which `isFromElsewhere` needs.
  referrerPolicy: { policy: 'same-origin' },
  strictTransportSecurity: false,
});
