import { type HTMLElement, parse } from 'node-html-parser';
import { expect, it } from 'vitest';
import { views } from '../../../src/http/console/serve-pages.ts';
import { openHiringSite } from '../../support/hiring-site.ts';
import { evil, openHostileSite } from '../../support/hostile-site.ts';
import { isThorough } from '../../support/tries.ts';
import { createVisitor, type VisitedPage } from '../../support/visitor.ts';
import { formsOf } from './signed-in.ts';

/** Views where texts of strangers stand in this site. */
const readers = [
  '/access',
  '/acts',
  '/acts/:act',
  '/contracts',
  '/contracts/:contract',
  '/deliveries',
  '/deliveries/:delivery',
  '/drift',
  '/installs',
  '/installs/:install',
  '/invitations',
  '/memberships/:membership',
  '/notifications',
  '/plans/:plan',
  '/trainers/:trainer',
];

const addressed = ['href', 'src', 'action', 'formaction'];

/** Of the console, or of the marketplace. */
const ownAddress = /^([/#](?!\/)|https:\/\/app\.opentrain\.ai\/\w+\/\w+$)/;

/** Elements and attributes that no page of the console has by itself. */
function foreignIn(html: HTMLElement): string[] {
  return html.querySelectorAll('*').flatMap((element) => {
    const { attributes, rawTagName: tag, text } = element;
    const names = Object.keys(attributes).filter((name) => /^(evil|on|style$|srcdoc)/i.test(name));
    const addresses = addressed.filter((name) => name in attributes && !ownAddress.test(attributes[name] ?? ''));
    const isForeign = /^(evil|img|iframe|object|base)/i.test(tag) || (tag === 'script' && text !== '');
    return isForeign || names.length > 0 || addresses.length > 0 ? [element.outerHTML.slice(0, 200)] : [];
  });
}

const hires = ['/hires', '/hires/contracts/:contract', '/hires/jobs/:job', '/hires/proposals/:proposal'];

it.each([
  ['vera', 'the pages of customers', openHostileSite, readers],
  ['otto', 'the pages of customers', openHostileSite, readers],
  ['vera', 'the pages of hires', () => openHiringSite(`${evil}\u001b[31m`), hires],
  ['otto', 'the pages of hires', () => openHiringSite(`${evil}\u001b[31m`), hires],
] as const)('what strangers write stays text for %s on %s', async (name, _, openSite, all) => {
  const { consoleUrl, addressOf } = await openSite();
  const visitor = createVisitor(consoleUrl);
  await visitor.signIn(name);
  const shown: string[] = [];
  for (const { path } of views) {
    const address = addressOf(path);
    if (address === undefined) continue;
    const page = await visitor.visit(address);
    expect([address, page.status]).toEqual([address, expect.toBeOneOf([200, 403, 404])]);
    if (page.status === 200 && page.body.includes('&lt;evil-tag')) shown.push(path);
    if (!page.type.startsWith('text/html')) continue;
    expectWhole(page);
    // A viewer can change nothing, although something of every kind waits for an operator.
    if (name === 'vera' && page.status === 200) expect([path, ...formsOf(page)]).toEqual([path, '/sign-out']);
  }
  expect(shown).toEqual(expect.arrayContaining([...all]));
});

it('what the marketplace asks about a job stays text, and so does the answer', async () => {
  const { consoleUrl, jobs } = await openHiringSite(evil);
  const visitor = createVisitor(consoleUrl);
  await visitor.signIn('otto');
  const draft = await visitor.visit(`/hires/jobs/${jobs.draft}?install=own`);
  expect(draft.html.querySelectorAll('main label').map((label) => label.text)).toContainEqual(
    expect.stringContaining(evil),
  );
  expectWhole(draft);
  const answer = await visitor.press(draft, 'Save', { [`set.${evil}`]: evil });
  expect([answer.status, answer.body.includes('&lt;evil-tag')]).toEqual([400, true]);
  expectWhole(answer);
});

it('what is typed into a filter or a form stays text in the answer', async () => {
  const { consoleUrl } = await openHostileSite();
  const visitor = createVisitor(consoleUrl);
  await visitor.signIn('otto');
  const names = ['q', 'state', 'install', 'tool', 'project', 'type', 'since', 'actor', 'back'];
  const query = (...these: string[]) =>
    `?${new URLSearchParams(Object.fromEntries(these.map((name) => [name, evil])))}`;
  for (const { path } of views) {
    if (path.includes(':')) continue;
    const page = await visitor.visit(`${path}${query(...names)}`);
    expectWhole(page);
    const isAsked = (name: string) => isThorough || page.html.querySelector(`main [name=${name}]`) !== null;
    for (const name of names.filter(isAsked)) expectWhole(await visitor.visit(`${path}${query(name)}`));
  }
  const connect = await visitor.visit('/installs/connect');
  const answer = await visitor.press(connect, 'Connect', { install: evil, token: evil, tool: evil, projects: evil });
  expect([answer.status, answer.body.includes('&lt;evil-tag')]).toEqual([400, true]);
  expectWhole(answer);
  const stranger = createVisitor(consoleUrl);
  expectWhole(await stranger.visit(`/sign-in${query('back')}`));
});

/** With all that stands after the text, and with nothing from it. */
function expectWhole({ path, body, type }: VisitedPage): void {
  if (!type.startsWith('text/html')) return;
  expect([path, foreignIn(parse(body, { comment: true }))]).toEqual([path, []]);
  expect([path, body.match(/<main|<\/main>|<\/html>|<!--/g)]).toEqual([path, ['<main', '</main>', '</html>']]);
}
