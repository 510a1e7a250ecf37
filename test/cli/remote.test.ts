import { globSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { operations } from '../../src/http/api/openapi-document.ts';
import { sqlite } from '../support/databases.ts';
import { listenOnLoopback } from '../support/http-fake.ts';
import { openJourney } from '../support/journey.ts';
import { runCommand } from '../support/run-command.ts';
import { consoleTokens } from '../support/visitor.ts';

const minuteMs = 60_000;

/** Four trainers whose removals the brake holds. */
async function openHeld() {
  const journey = await openJourney(sqlite);
  const { customer, sandbox, quiet, pass } = journey;
  const linkId = await customer.link('street-signs');
  const hired = [1, 2, 3, 4].map(() => sandbox.hire({ jobId: customer.jobId }));
  await quiet();
  await pass(2 * 60 * minuteMs);
  await customer.api('DELETE', `/project-links/${linkId}`);
  await quiet();
  await pass(20 * minuteMs);
  const remote = (...argv: string[]) => runCommand(...argv, '--remote', journey.consoleUrl);
  /** Deliveries are taken in in any order, so its id is not known beforehand. */
  const membershipOf = async ({ trainers: [trainer] }: (typeof hired)[number]) =>
    String((await journey.memberships()).find(({ trainerId }) => trainerId === trainer?.opentrainUserId)?.id);
  return { ...journey, hired, remote, membershipOf };
}

beforeEach(() => void vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.otto.token));
afterEach(() => void vi.unstubAllEnvs());

describe('a command with --remote', () => {
  it('answers for all that it is declared for', async () => {
    const { remote, hired, membershipOf } = await openHeld();
    const contract = hired[0]?.contractId ?? '';
    const [approved = '', released = ''] = await Promise.all(hired.slice(1).map(membershipOf));
    const asked: [string[], number, string][] = [
      [['status', '--since', '90d'], 0, '4 removals of acme need your decision.'],
      [['members', 'waiting'], 0, 'No invitation is waiting.'],
      [['explain', contract], 0, `by contract ${contract} of acme`],
      [['access'], 0, 'by'],
      [['installs'], 0, 'acme'],
      [['tools'], 0, 'list'],
      [['links'], 0, 'No project is linked.'],
      [['links', 'add', 'cars'], 0, 'Linked cars'],
      [['links', 'remove', 'cars'], 0, 'Nothing was changed'],
      [['links', 'remove', 'cars', '--yes'], 0, 'Removed the link'],
      [['endpoint', 'status'], 1, 'acme: '],
      [['contracts', 'end', contract], 0, 'is treated as ended'],
      [['contracts', 'reopen', contract], 0, 'is treated as active. A running "gangway start" reads acme now.'],
      [['plans', 'approve', '1', '--only', approved], 0, 'Approved 1 removal.'],
      [['deliveries', 'replay', '1'], 0, '1 will be handled again.'],
      [['deliveries', 'body', '1'], 0, '{'],
      [['members', 'release', released], 0, 'is no longer managed by Gangway, and stays'],
      [['retire', '--all'], 0, 'There is nobody to retire'],
      [['retire', '--all', '--yes'], 0, 'There is nobody to retire'],
    ];
    for (const [argv, status, says] of asked) {
      const { stdout, stderr, ...ended } = await remote(...argv);
      expect([argv, ended.status, stdout, stderr]).toEqual([argv, status, expect.stringContaining(says), stderr]);
    }
    const doctor = await remote('doctor', '--json');
    expect(JSON.parse(doctor.stdout)).toMatchObject({ checks: expect.any(Array) });
  });

  it('says why it was refused, and ends with status 1', async () => {
    const { remote } = await openHeld();
    const missing = await remote('plans', 'show', '99');
    expect(missing).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('There is no plan 99') });
    vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.vera.token);
    const viewer = await remote('plans', 'reject', '1');
    expect(viewer).toMatchObject({ status: 1, stderr: expect.stringContaining('only operators can do this') });
    expect(await remote('plans')).toMatchObject({ status: 0 });
    vi.stubEnv('GANGWAY_API_TOKEN', 'no-token-of-the-console');
    const stranger = await remote('plans');
    expect(stranger).toMatchObject({ status: 1, stderr: expect.stringContaining('answered 401') });
    expect(stranger.stderr).not.toContain('no-token-of-the-console');
  });

  it.each([
    [['key', 'show'], '"show" does not take --remote: the key is kept beside the database'],
    [['start'], '"start" does not take --remote: it runs an instance here'],
    [['usage', 'template'], '"template" does not take --remote: it asks nobody'],
    [['usage', 'discard', 'x'], '<work> must be the id of held work'],
    [['doctor', '--rehearse', '--tool', 'x', '--group', 'y'], "'--rehearse' cannot be used with option '--remote'"],
  ])('%j is used wrongly', async (argv, says) => {
    const ended = await runCommand(...argv, '--remote', 'http://127.0.0.1:9');
    expect(ended).toMatchObject({ status: 64, stdout: '', stderr: expect.stringContaining(says) });
  });

  it.each([
    ['http://gangway.example.com', 'in plain text'],
    ['gangway.example.com', 'takes the address of an instance'],
    ['file:///etc/passwd', 'takes the address of an instance'],
    ['https://me:secret@gangway.example.com', 'without a user'],
    ['https://gangway.example.com/?a=b', 'without a user, a query'],
  ])('sends no token to %s', async (url, says) => {
    const ended = await runCommand('status', '--remote', url);
    expect(ended).toMatchObject({ status: 64, stderr: expect.stringContaining(says) });
  });

  it('needs a token', async () => {
    vi.stubEnv('GANGWAY_API_TOKEN', '');
    const ended = await runCommand('status', '--remote', 'http://127.0.0.1:9');
    expect(ended).toMatchObject({ status: 64, stderr: expect.stringContaining('GANGWAY_API_TOKEN') });
  });

  it('follows no redirect with its token, and believes no page', async () => {
    const seen: (string | undefined)[] = [];
    const elsewhere = await listen((request, response) => {
      seen.push(request.headers.authorization);
      response.end('{}');
    });
    const redirecting = await listen((_request, response) => response.writeHead(302, { location: elsewhere }).end());
    const ended = await runCommand('plans', '--remote', redirecting);
    expect(ended).toMatchObject({ status: 1, stderr: expect.stringContaining('answered 302') });
    expect(seen).toEqual([]);
    const page = await listen((_request, response) => response.end('<!doctype html>'));
    expect(await runCommand('plans', '--remote', page)).toMatchObject({ status: 1, stdout: '' });
  });

  it('asks for nothing that the API does not have', () => {
    const source = globSync('src/cli/*.ts').map((file) => readFileSync(file, 'utf8'));
    const asked = [...source.join('\n').matchAll(/'((?:GET|POST) \/[^']+)'/g)].map(([, operation]) => operation);
    const known = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`).concat('GET /openapi.json');
    expect(asked.length).toBeGreaterThan(2);
    expect(asked.filter((operation) => !known.includes(operation ?? ''))).toEqual([]);
  });
});

function listen(listener: RequestListener): Promise<string> {
  return listenOnLoopback(createServer(listener));
}
