import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { operations } from '../../src/http/api/openapi-document.ts';
import { sqlite } from '../support/databases.ts';
import { openEmployerJourney } from '../support/employer-journey.ts';
import { createFolder } from '../support/folder.ts';
import { openHeldPlan } from '../support/held-plan.ts';
import { listenOnLoopback } from '../support/http-fake.ts';
import { type Journey, openJourney } from '../support/journey.ts';
import { runCommand } from '../support/run-command.ts';
import { consoleTokens } from '../support/visitor.ts';

/** Four trainers whose removals the brake holds. */
async function openHeld() {
  const held = await openHeldPlan();
  const remote = (...argv: string[]) => runCommand(...argv, '--remote', held.consoleUrl);
  /** Deliveries are taken in in any order, so its id is not known beforehand. */
  const membershipOf = async ({ trainers: [trainer] }: (typeof held.hired)[number]) =>
    String((await held.memberships()).find(({ trainerId }) => trainerId === trainer?.opentrainUserId)?.id);
  return { ...held, remote, membershipOf };
}

beforeEach(() => void vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.otto.token));
afterEach(() => void vi.unstubAllEnvs());

describe('a command with --remote', () => {
  it('works for every command that declares it', async () => {
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

  it('follows no redirect with its token, and accepts no page as an answer', async () => {
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

  it('only uses operations of the API', () => {
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

const group = 'street-signs';

/** With each command a second passes: what it causes began later than what was before. */
function at({ consoleUrl, pass }: Pick<Journey, 'consoleUrl'> & { pass(ms: number): unknown }) {
  return async (...argv: string[]) => {
    await pass(1000);
    return await runCommand(...argv, '--remote', consoleUrl);
  };
}

async function openHired() {
  const journey = await openJourney(sqlite);
  const { customer, sandbox, quiet } = journey;
  await customer.link(group);
  const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
  await quiet();
  return { ...journey, contractId, trainerId: trainers[0]?.opentrainUserId ?? '', remote: at(journey) };
}

describe('reconcile --remote', () => {
  it('previews, then reconciles at the running instance', async () => {
    const { sandbox, customer, remote, quiet, roster } = await openHired();
    sandbox.setFaults(undefined, { lose: 1 });
    sandbox.hire({ jobId: customer.jobId });
    await quiet();
    const dry = await remote('reconcile', 'preview', '--json');
    expect(dry).toMatchObject({ status: 2, stderr: '' });
    expect(JSON.parse(dry.stdout)).toMatchObject({ installs: [{ install: 'acme', outcome: 'pending', added: 1 }] });
    expect(roster()[group]).toHaveLength(1);
    const done = await remote('reconcile', '--install', 'acme', '--json');
    expect(done).toMatchObject({ status: 0 });
    expect(JSON.parse(done.stdout)).toMatchObject({ installs: [{ install: 'acme', outcome: 'applied', added: 1 }] });
    expect(roster()[group]).toHaveLength(2);
    expect((await remote('reconcile')).stdout).toContain('clean');
  });

  it('says that an install could not be read', async () => {
    const { sandbox, remote } = await openHired();
    sandbox.setFaults(undefined, { serverError: 1 });
    const { status, stderr } = await remote('reconcile', '--wait', '20s');
    expect(status).toBe(1);
    expect(stderr).toContain('gangway: acme: ');
  });

  it('names an install that does not exist', async () => {
    const { remote } = await openHired();
    expect(await remote('reconcile', '--install', 'nobody')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('There is no install "nobody"'),
    });
  });
});

describe('connect --remote', () => {
  it('connects a customer whose token only the instance stores', async () => {
    const { sandbox, remote, roster } = await openHired();
    const { installId, token } = sandbox.createInstall();
    const { id: jobId } = sandbox.createJob({ installId });
    const file = path.join(createFolder(), 'token');
    writeFileSync(file, token, { mode: 0o600 });
    const connected = await remote('connect', 'umbrella', '--token-file', file, '--tool', 'list', '--projects', 'u-*');
    expect(connected).toMatchObject({ status: 0, stdout: expect.stringContaining('umbrella is connected') });
    expect(connected.stderr).not.toContain(token);
    await remote('links', 'add', 'u-cars', '--install', 'umbrella', '--job', jobId);
    sandbox.hire({ jobId });
    expect(await remote('reconcile', '--install', 'umbrella')).toMatchObject({ status: 0 });
    expect(roster()['u-cars']).toHaveLength(1);
    expect(await remote('connect', 'umbrella')).toMatchObject({ status: 0 });
    const stranger = await remote('connect', 'nobody', '--tool', 'list', '--projects', 'n-*');
    expect(stranger).toMatchObject({ status: 1, stderr: expect.stringContaining('There is no token for nobody yet') });
  });
});

describe('connect --employer --remote', () => {
  it('connects an account with its jobs, and first says what its token may do beyond need', async () => {
    const { sandbox, consoleUrl, clock, roster } = await openEmployerJourney(sqlite, { connects: 'unknown' });
    const remote = at({ consoleUrl, pass: clock.advance });
    const { accountId, token } = sandbox.createAccount();
    const { id: jobId } = sandbox.createJob({ accountId });
    const [hired] = sandbox.hire({ jobId }).trainers;
    const file = path.join(createFolder(), 'token');
    writeFileSync(file, token, { mode: 0o600 });
    const there = ['--token-file', file, '--tool', 'list', '--projects', 'night-*', '--job', `${jobId}=night-1`];
    const unsaid = await remote('connect', 'night', ...there);
    expect(unsaid).toMatchObject({ status: 1, stderr: expect.stringContaining('--employer') });
    const connected = await remote('connect', 'night', '--employer', ...there);
    expect(connected).toMatchObject({ status: 0, stderr: expect.stringContaining('more scopes than Gangway needs') });
    expect(connected.stdout + connected.stderr).not.toContain(token);
    expect(roster()['night-1']).toEqual([hired?.opentrainUserId]);
  });
});

describe('usage --remote', () => {
  it('imports, shows, reports and undoes a file', async () => {
    const { remote, trainerId, contractId, clock } = await openHired();
    const day = clock.now().toISOString().slice(0, 10);
    const file = path.join(createFolder(), 'work.ndjson');
    writeFileSync(file, JSON.stringify({ contractId, opentrainUserId: trainerId, workDate: day, totalSeconds: 60 }));
    const unsure = await remote('usage', 'import', file);
    expect(unsure).toMatchObject({ status: 2, stdout: expect.stringContaining('Nothing was imported') });
    expect((await remote('usage', 'imports')).stdout).toBe('Nothing was imported.\n');
    const imported = await remote('usage', 'import', file, '--yes', '--json');
    expect(imported).toMatchObject({ status: 0 });
    expect(JSON.parse(imported.stdout)).toMatchObject({ install: 'acme', imported: expect.any(Number), people: 1 });
    expect((await remote('usage', 'imports')).stdout).toContain('work.ndjson');
    expect(await remote('usage', 'preview')).toMatchObject({ status: 2 });
    const reported = await remote('usage', 'report', '--json');
    expect(JSON.parse(reported.stdout)).toMatchObject({ installs: [{ install: 'acme', outcome: 'applied', sent: 1 }] });
    const shown = await remote('usage', 'show', contractId);
    expect(shown.stdout).toMatch(/work\.ndjson[\s\S]*Reported in all: 60 seconds/);
    expect(await remote('usage', 'held')).toMatchObject({ status: 0, stdout: 'No work is held.\n' });
    const unknown = await remote('usage', 'discard', '0123456789ab');
    expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining('0123456789ab') });
    const { imported: id } = JSON.parse(imported.stdout) as { imported: number };
    expect(await remote('usage', 'undo', `${id}`)).toMatchObject({ status: 2 });
    expect(await remote('usage', 'undo', `${id}`, '--yes')).toMatchObject({ status: 0 });
    expect(await remote('usage', 'undo', '999', '--yes')).toMatchObject({ status: 1 });
  });

  it('names the wrong lines of a file, and imports none', async () => {
    const { remote } = await openHired();
    const file = path.join(createFolder(), 'work.csv');
    writeFileSync(file, 'contractId,opentrainUserId,workDate,totalSeconds\nx,y,yesterday,many\n');
    const { status, stderr } = await remote('usage', 'import', file, '--yes');
    expect(status).toBe(1);
    expect(stderr).toContain('Nothing was imported: ');
    const missing = await remote('usage', 'import', `${file}.csv`);
    expect(missing).toMatchObject({ status: 1, stderr: expect.stringContaining('ENOENT') });
  });
});
