import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts';
import { type Fate, openLosingProxy } from '../support/losing-proxy.ts';
import { createStdin, startAt } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { refused, useBridge } from './bridge.ts';

const dayMs = 86_400_000;

describe('gangway connect --register', { timeout: 60_000 }, () => {
  let sandbox: Sandbox;
  let clock: FakeClock;
  let asked: string[];
  let decide: (line: string) => Fate;

  const workspace = useBridge(async () => {
    clock = createFakeClock(new Date().toISOString());
    decide = () => 'passed';
    sandbox = createSandbox({ timeScale: 0, clock });
    const { url, baseUrl } = await sandbox.start();
    onTestFinished(() => sandbox.stop());
    const proxy = await openLosingProxy(
      url,
      (line) => {
        // The marketplace lets an agent poll every five seconds.
        if (line.endsWith('/oauth/token')) clock.advance(10_000);
        return decide(line);
      },
      (answer) => answer.replace('"interval":5', '"interval":0.01'),
    );
    asked = proxy.asked;
    return { marketplace: { baseUrl, employerBaseUrl: `${proxy.url}/api/public/v1` }, installs: {} };
  });
  const { run, runJson } = workspace;

  const register = () =>
    startAt(createStdin(), 'connect', 'own', '--register', '--json', '--config', workspace.configFile);
  const accounts = () => sandbox.snapshot().accounts;
  const polls = () => asked.filter((line) => line.endsWith('/oauth/token')).length;

  async function claimOf(command: ReturnType<typeof register>): Promise<string> {
    const says = await until('a person is asked', command.stderr, (text) => /claim the account: \S+/.test(text));
    return /claim\/(\w+)/.exec(says)?.[1] ?? '';
  }

  it('goes from no account to a hire, with what is allowed before the claim', async () => {
    const command = register();
    const accountId = await claimOf(command);
    expect(command.stderr()).toMatch(/Its code is \w+\. It expires at \d{4}-/);
    await until('it has polled', polls, (count) => count > 2);
    expect(await runJson('marketplace', 'jobs', 'mine')).toMatchObject({ jobs: [] });
    const status = await run('status');
    expect(status.stdout).toContain('The account own waits to be claimed');
    expect(status.stdout).toMatch(/Claim it at https:\S+claim\S+ until/);
    sandbox.claimAccount(accountId);
    const { status: ended, stdout, stderr } = await command.ended;
    expect([ended, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ install: 'own', grant: accountId })]);
    expect(stdout + stderr).not.toMatch(/ot_(pat|clm)_/);
    const [account] = accounts();
    expect(account?.tokens.map(({ status }) => status)).toEqual(['revoked', 'active']);
    expect((await run('status')).stdout).not.toContain('waits to be claimed');
    expect(accounts()).toHaveLength(1);

    const file = path.join(workspace.folder, 'job.md');
    writeFileSync(file, 'Draw a box around each sign.');
    const answers = ['experienceLevel=EXPERT', 'labelTypes=BOX', 'paymentType=PAY_PER_HOUR', 'pricePerHour=20'];
    const set = answers.flatMap((answer) => ['--set', answer]);
    sandbox.setAccount(accountId, { hasCard: true });
    const { jobId } = await runJson('hire', 'draft', file, '--project', 'signs', ...set);
    expect(await run('hire', 'publish', jobId)).toMatchObject({ status: 0 });
    const { proposalId } = sandbox.propose({ jobId, trainer: {} });
    expect(await run('hire', 'confirm', proposalId)).toMatchObject({ status: 2 });
    const removed = await run('installs', 'remove', 'own');
    expect(removed.stdout).toBe(`Removed own and its token. Still to be decided at the marketplace: ${proposalId}.\n`);
  });

  it('goes on with the same registration after it was stopped', async () => {
    const first = register();
    const accountId = await claimOf(first);
    first.stop();
    expect(await first.ended).toMatchObject(refused('Run the same command to go on'));
    const second = register();
    expect(await claimOf(second)).toBe(accountId);
    sandbox.claimAccount(accountId);
    expect(await second.ended).toMatchObject({ status: 0 });
    expect(asked.filter((line) => line.endsWith('/identity'))).toHaveLength(1);
  });

  it('says that a claim has expired, and registers another account', async () => {
    const command = register();
    const first = await claimOf(command);
    clock.advance(2 * dayMs);
    await until('another is registered', command.stderr, (text) => text.includes('The claim has expired'));
    const second = await until(
      'another claim',
      () => /claim\/(\w+)/.exec(command.stderr().split('has expired')[1] ?? '')?.[1] ?? first,
      (found) => found !== first,
    );
    sandbox.claimAccount(second);
    expect(await command.ended).toMatchObject({ status: 0, stdout: expect.stringContaining(second) });
    expect(await runJson('installs', 'list')).toMatchObject({ installs: [{ install: 'own' }] });
  });

  it('says what to do if the token of the claim was lost', async () => {
    const command = register();
    const accountId = await claimOf(command);
    decide = (line) => (line.endsWith('/oauth/token') ? 'unanswered' : 'passed');
    sandbox.claimAccount(accountId);
    expect((await command.ended).status).toBe(1);
    decide = () => 'passed';
    expect(await run('connect', 'own', '--register')).toMatchObject(refused('make one in the settings'));
  });

  it.each([
    ['anonymous_not_enabled', 'Ask the marketplace'],
    ['rate_limit_exceeded', 'Try later'],
  ] as const)('says what to do if the marketplace answers %s', async (refusal, says) => {
    sandbox.setRegistration({ refusal });
    expect(await run('connect', 'own', '--register')).toMatchObject(refused(says));
    expect(await runJson('installs', 'list')).toMatchObject({ installs: [] });
  });

  it('is refused with a token, with jobs, and from afar', async () => {
    const line = ['connect', 'own', '--register'];
    expect(await run(...line, '--job', 'job_1=signs')).toMatchObject(refused('--register goes without', 64));
    vi.stubEnv('GANGWAY_API_TOKEN', 'x');
    const afar = await run(...line, '--remote', 'http://127.0.0.1:9');
    vi.unstubAllEnvs();
    expect(afar).toMatchObject(refused('does not take --remote', 64));
    workspace.open({ installs: { own: { source: 'employer', token: 'ot_pat_1', tool: 'list' } } });
    expect(await run(...line)).toMatchObject(refused('own is in the configuration'));
    expect(asked).toEqual([]);
  });
});
