import assert from 'node:assert/strict';
import { acts, views } from '../../../src/http/console/serve-pages.ts';
import { type Dialect, postgres, sqlite } from '../../support/databases.ts';
import { type Journey, openJourney } from '../../support/journey.ts';
import { consoleTokens, cookieOf } from '../../support/visitor.ts';
import type { Mutator } from '../mutator.ts';
import type { Opened, Target } from '../target.ts';

const names = ['install', 'cursor', 'q', 'kind', 'state', 'tool', 'group', 'limit', 'page', 'reason', 'project'];
const people = ['otto', 'vera'] as const;
const words = ['acme', 'street-signs', 'list', '1', '2026-03-15', 'yes', 'ended', 'a'];

export const consoleRequests: readonly Target[] = [sqlite, postgres].map((dialect) => ({
  name: `requests to the console on ${dialect.name}`,
  inputs: { long: 4000, short: 75 },
  reaches: ['page 200', 'page 404', 'act 403'],
  atOnce: 4,
  open: () => open(dialect),
}));

async function open(dialect: Dialect): Promise<Opened> {
  const journey = await openJourney(dialect);
  const ids = [...words, ...(await fill(journey))];
  const { consoleUrl, log } = journey;
  const cookies = { otto: await cookieOf(consoleUrl, 'otto'), vera: await cookieOf(consoleUrl, 'vera') };
  const csrf = { otto: await readCsrf(consoleUrl, cookies.otto), vera: await readCsrf(consoleUrl, cookies.vera) };
  const right = { otto: csrf.otto, vera: csrf.vera };
  const forged = ['', 'x', right.otto.toLowerCase().slice(1), `${right.otto} `, right.vera, undefined];

  async function look(chance: Mutator): Promise<string> {
    const address = addressOf(chance, views);
    const { status, body } = await send(address, { headers: { cookie: cookies[chance.pick(people)] } });
    check(`GET ${address}`, status, body);
    return `page ${status}`;
  }

  async function act(chance: Mutator): Promise<string> {
    const who = chance.oneIn(4) ? 'vera' : 'otto';
    const address = addressOf(chance, acts);
    const form = toQuery(chance, ids);
    const token = chance.oneIn(2) ? chance.pick(forged) : right[who];
    if (token !== undefined) form.set('csrf', token);
    const headers = { cookie: cookies[who], 'content-type': 'application/x-www-form-urlencoded' };
    const { status, body } = await send(address, { method: 'POST', body: form.toString(), headers });
    check(`POST ${address} ${form}`, status, body);
    const mayAct = who === 'otto' && token === right.otto;
    const isRefused = status === 403 || status === 404 || body.includes('This request cannot be read');
    assert.ok(mayAct || isRefused, `a forged act is answered ${status}: ${address} ${form}`);
    return `act ${status}`;
  }

  function check(request: string, status: number, body: string): void {
    assert.notEqual(status, 500, `${request}: ${JSON.stringify(log.lines().at(-1)).slice(0, 1000)}`);
    for (const { token } of Object.values(consoleTokens)) assert.ok(!body.includes(token), request);
  }

  function addressOf(chance: Mutator, paths: readonly { path: string }[]): string {
    return `${consoleUrl}${fillIn(chance, chance.pick(paths).path, ids)}?${toQuery(chance, ids)}`;
  }

  return { judge: (chance) => (chance.oneIn(2) ? look : act)(chance) };
}

/** @returns the ids of what it creates */
async function fill({ sandbox, customer, quiet, deliver, memberships }: Journey): Promise<string[]> {
  const linkId = await customer.link('street-signs');
  const staying = sandbox.hire({ jobId: customer.jobId });
  const leaving = sandbox.hire({ jobId: customer.jobId });
  await quiet();
  sandbox.endContract(leaving.contractId);
  await deliver('no event');
  await quiet();
  const rows = await memberships();
  return [linkId, staying.contractId, ...rows.flatMap(({ id, trainerId }) => [String(id), trainerId])];
}

async function readCsrf(consoleUrl: string, cookie: string): Promise<string> {
  const { body } = await send(`${consoleUrl}/`, { headers: { cookie } });
  const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(body) ?? [];
  assert.notEqual(csrf, '');
  return csrf;
}

async function send(address: string, request: RequestInit): Promise<{ status: number; body: string }> {
  const answer = await fetch(address, { ...request, redirect: 'manual' });
  return { status: answer.status, body: await answer.text() };
}

function textOf(chance: Mutator, ids: readonly string[]): string {
  const id = chance.pick(ids);
  return chance.oneIn(2) ? id : chance.text(id).slice(0, 2000);
}

function fillIn(chance: Mutator, path: string, ids: readonly string[]): string {
  return path.replaceAll(/:\w+/g, () => {
    const text = textOf(chance, ids);
    // Sometimes an address that no browser would send.
    return chance.oneIn(8) ? text.replaceAll(/[^!-~]|[?#/\\]/g, '%') : encodeURIComponent(text.toWellFormed());
  });
}

function toQuery(chance: Mutator, ids: readonly string[]): URLSearchParams {
  const pairs = Array.from({ length: chance.below(4) }, () => {
    const name = chance.oneIn(6) ? chance.text(chance.pick(names)) : chance.pick(names);
    return [name.slice(0, 200), textOf(chance, ids)] as [string, string];
  });
  return new URLSearchParams(pairs);
}
