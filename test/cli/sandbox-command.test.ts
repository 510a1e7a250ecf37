import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sandboxCommand as createSandboxCommand } from '../../src/cli/commands/sandbox.ts';
import type { Terminal } from '../../src/cli/session.ts';
import { openWorld, request } from '../sandbox/sandbox-harness.ts';

describe('gangway sandbox', () => {
  it('runs a marketplace with a demo install until it is stopped', async () => {
    const { terminal, stdout, stop } = openTerminal();
    const running = run(terminal, '--port', '0', '--json');
    const demo = JSON.parse(await stdout.next());
    const { token, installId, jobId, url, baseUrl } = demo;
    expect(baseUrl).toBe(`${url}/api/partner/v1`);
    const current = await request('GET', `${baseUrl}/installs/current`, { token });
    expect(current.body.install.id).toBe(installId);
    const body = { externalProjectId: 'a', jobId };
    expect((await request('POST', `${baseUrl}/project-links`, { token, body })).status).toBe(201);

    stop();
    await running;
    await expect(fetch(baseUrl)).rejects.toThrow();
  });

  it('prints its address and what to do next', async () => {
    const { terminal, stdout, stop } = openTerminal();
    const running = run(terminal, '--port', '0', '--time-scale', '60');
    const text = await stdout.next();
    expect(text).toMatch(/^Sandbox marketplace on http:\/\/127\.0\.0\.1:\d+$/m);
    expect(text).toMatch(/token +ot_ptk_\w+$/m);
    expect(text).toContain('gangway sandbox hire');
    stop();
    await running;
  });

  it.each([
    ['--port', '70000'],
    ['--port', '-1'],
    ['--time-scale', 'fast'],
    ['hire', '--url', 'not an address'],
    ['end'],
    ['nonsense'],
  ])('refuses %s %s', async (...args) => {
    await expect(run(openTerminal().terminal, ...args)).rejects.toThrow(/error:/);
  });

  it('explains every option and argument', () => {
    const command = createSandboxCommand(openTerminal().terminal);
    for (const { description, options, registeredArguments } of [command, ...command.commands].map((one) => ({
      description: one.description(),
      options: one.options,
      registeredArguments: one.registeredArguments,
    }))) {
      expect(description).not.toBe('');
      for (const option of [...options, ...registeredArguments]) {
        expect(option.description).not.toBe('');
      }
    }
  });
});

describe('the faults', () => {
  it('are set by the command line at the start, and depend on the seed', async () => {
    const first = await play('one');
    expect(first).toMatchObject({ seed: 'one', contracts: 403, projectLinks: 200 });
    expect((await play('one')).token).toBe(first.token);
    expect((await play('two')).token).not.toBe(first.token);

    async function play(wanted: string) {
      const { terminal, stdout, stop } = openTerminal();
      const faults = JSON.stringify({ forbidden: { probability: 1, operations: ['GET /contracts'] } });
      const options = ['--seed', wanted, '--faults', faults];
      const running = run(terminal, '--port', '0', '--json', ...options);
      const { baseUrl, token, seed } = JSON.parse(await stdout.next());
      const contracts = (await request('GET', `${baseUrl}/contracts`, { token })).status;
      const projectLinks = (await request('GET', `${baseUrl}/project-links`, { token })).status;
      stop();
      await running;
      return { token, seed, contracts, projectLinks };
    }
  });

  it('that do not exist are refused at the start', async () => {
    const { terminal } = openTerminal();
    const faults = JSON.stringify({ empty: { probability: 1, operations: ['GET /all'] } });
    await expect(run(terminal, '--port', '0', '--faults', faults)).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('"GET /all"'),
    });
    await expect(run(terminal, '--port', '0', '--faults', '{"lose":1.1}')).rejects.toThrow('lose');
    await expect(run(terminal, '--port', '0', '--faults', '{lose}')).rejects.toThrow('line 1');
  });

  it('are set for all installs or one, shown, and cleared', async () => {
    const { sandbox, url, api, installId } = await openWorld();
    expect(await runJson(url, 'faults')).toEqual({ allInstalls: {}, installs: {}, happened: [] });
    expect(JSON.parse(await runText(url, 'faults', '{"lose":0.3,"delay":{"probability":1,"ms":300000}}'))).toEqual({
      installId: null,
      faults: { lose: { probability: 0.3 }, delay: { probability: 1, ms: 300_000 } },
    });
    const operations = ['GET /contracts', 'GET /project-links'];
    const faults = { lose: { probability: 0, times: 2 }, rateLimited: { probability: 1, times: 2, operations } };
    const set = JSON.stringify(faults);
    expect(await runJson(url, 'faults', set, '--install', installId)).toEqual({ installId, faults });

    expect((await api('GET', '/contracts')).status).toBe(429);
    const shown = await runJson(url, 'faults');
    expect(shown).toEqual(sandbox.snapshot().faults);
    expect(shown.happened).toMatchObject([{ fault: 'rateLimited', operation: 'GET /contracts', installId }]);

    expect(await runJson(url, 'faults', '{}')).toEqual({ installId: null, faults: {} });
    expect(sandbox.snapshot().faults).toMatchObject({ allInstalls: {}, installs: {} });
  });

  it.each([
    [['{"lose":2}'], /lose/],
    [['{"gone":1}'], /gone/],
    [['{"lose":1', '--clear'], /unknown option/],
    [['{"lose":1}', '--install', 'ins_unknown'], /No install ins_unknown/],
  ])('that make no sense are refused: %j', async (args, message) => {
    const { url } = await openWorld();
    await expect(runText(url, 'faults', ...args)).rejects.toThrow(message);
  });
});

describe('the commands that act as customers', () => {
  it('hire for the newest job, or a named one', async () => {
    const { sandbox, url, jobId, installId } = await openWorld();
    const newest = sandbox.createJob({ installId });
    const first = await runJson(url, 'hire');
    expect(first.jobId).toBe(newest.id);
    const second = await runJson(
      url,
      ...['hire', '--job', jobId, '--trainer', 'usr_ana', '--name', 'Ana M.'],
      ...['--email', 'ana@opentrain.work'],
    );
    expect(second.trainers).toMatchObject([
      { opentrainUserId: 'usr_ana', displayName: 'Ana M.', workEmail: 'ana@opentrain.work' },
    ]);
    expect(await runText(url, 'hire')).toMatch(/^Contract ctr_\w+ started on job job_\w+\n {2}\S/);
  });

  it("create an employer's account, and hire for its job without an install", async () => {
    const { url } = await openWorld();
    const { accountId, jobId, token } = await runJson(url, 'account');
    const { contractId } = await runJson(url, 'hire', '--job', jobId);
    const { body } = await request('GET', `${url}/api/public/v1/contracts?jobId=${jobId}`, { token });
    expect(body.contracts).toMatchObject([{ id: contractId }]);

    const unclaimed = await runJson(url, 'account', '--unclaimed');
    expect(unclaimed.accountId).not.toBe(accountId);
    const end = `${url}/api/public/v1/contracts/${contractId}/end`;
    const refused = await request('POST', end, { token: unclaimed.token });
    expect(refused.body.details.reason).toBe('account_claim_required');
  });

  it("create, pay and cancel a payment, and show an account's ids", async () => {
    const { sandbox, url } = await openWorld();
    const { accountId, jobId, token } = await runJson(url, 'account');
    const { contractId } = sandbox.hire({ jobId });
    const list = async () =>
      (await request('GET', `${url}/api/public/v1/payments/pending`, { token })).body.payments as { id: string }[];
    const [paid, cancelled] = [
      await runJson(url, 'do', `contracts/${contractId}/bill`, '{"amountUsd":50}'),
      await runJson(url, 'do', `contracts/${contractId}/bill`),
    ];
    expect(await list()).toMatchObject([{ id: cancelled.id }, { id: paid.id, amountUsd: 50, job: { id: jobId } }]);
    const text = await runText(url, 'state');
    for (const id of [accountId, jobId, contractId, paid.id]) expect(text).toContain(id);
    await runText(url, 'do', `payments/${paid.id}/settle`);
    await runText(url, 'do', `payments/${cancelled.id}/settle`, '{"outcome":"cancelled"}');
    expect(await list()).toEqual([]);
    expect(sandbox.snapshot().contracts).toMatchObject([{ budget: { fundedAmountUsd: 50 } }]);
    await expect(runText(url, 'do', `payments/${paid.id}/settle`)).rejects.toThrow('No pending payment');

    const end = await request('POST', `${url}/api/public/v1/contracts/${contractId}/end`, { token });
    const [account] = (await runJson(url, 'state')).accounts;
    expect(account.approvals).toMatchObject([{ id: end.body.approval.id, status: 'pending' }]);
  });

  it('propose, resolve an approval, and pay a top-up', async () => {
    const { sandbox, url } = await openWorld();
    const { jobId, token } = await runJson(url, 'account');
    const api = `${url}/api/public/v1`;
    const silent = await runJson(url, 'propose', jobId, '--not-fit', '--trainer', 'usr_ana');
    expect(await runText(url, 'propose', jobId, '--interview')).toMatch(/^Proposal prp_\w+ of .+ for job job_\w+\n$/);
    const { body } = await request('GET', `${api}/jobs/${jobId}/proposals`, { token });
    expect(body.proposals).toMatchObject([
      { status: 'PENDING', aiInterview: { transcriptAvailable: true } },
      { id: silent.proposalId, status: 'NOT_FIT', freelancer: { userId: 'usr_ana' } },
    ]);
    for (const status of ['declined', 'expired', 'confirmed']) {
      const asked = await request('POST', `${api}/proposals/${body.proposals[0].id}/hire`, { token, body: {} });
      const { id } = asked.body.approval;
      expect(await runText(url, 'resolve', id, status)).toBe(`Approval ${id} is ${status}\n`);
    }
    expect(sandbox.snapshot().contracts).toHaveLength(1);
    await expect(runText(url, 'resolve', 'apr_1', 'signed')).rejects.toThrow('signed');

    const topUp = await request('POST', `${api}/credits/top-ups`, { token, body: { amountUsd: 10 } });
    await runText(url, 'do', `payments/${topUp.body.topUpId}/settle`);
    expect((await request('GET', `${api}/credits`, { token })).body.balanceUsd).toBe(10);
  });

  it('claim an account, set what it has, and whether agents can register', async () => {
    const { url } = await openWorld();
    const register = async () => (await request('POST', `${url}/api/agent/identity`, { body: {} })).status;
    const statuses = [];
    for (const state of ['anonymous_not_enabled', 'rate_limit_exceeded', null]) {
      await runText(url, 'do', 'registration', JSON.stringify({ refusal: state }));
      statuses.push(await register());
    }
    expect(statuses).toEqual([403, 429, 200]);
    const [{ id }] = (await runJson(url, 'state')).accounts;
    await runText(url, 'do', `accounts/${id}/claim`);
    await expect(runText(url, 'do', `accounts/${id}/claim`)).rejects.toThrow('already claimed');
    const set = (fields: object) => runJson(url, 'do', `accounts/${id}/set`, JSON.stringify(fields));
    const featuresOff = ['public_api_team', 'public_api_credits'];
    expect(await set({ hasCard: false, hasTeam: false, featuresOff })).toEqual({
      accountId: id,
      hasCard: false,
      hasTeam: false,
      featuresOff,
    });
    expect((await runJson(url, 'state')).accounts).toMatchObject([
      { id, isClaimed: true, hasCard: false, featuresOff },
    ]);
    await expect(set({ card: 1 })).rejects.toThrow('card');
    await expect(runText(url, 'do', 'nothing')).rejects.toThrow('there are installs, installs/:id/consent, ');
    await expect(runText(url, 'do', 'idle', '{a}')).rejects.toThrow('line 1');
  });

  it('end, fund, withdraw consent, and reconnect', async () => {
    const { sandbox, url, jobId, installId } = await openWorld();
    const { contractId } = sandbox.hire({ jobId });
    await runText(url, 'do', `contracts/${contractId}/fund`, '{"volume":7,"amountUsd":90}');
    expect(await runText(url, 'end', contractId)).toBe(`Contract ${contractId} ended\n`);
    expect(sandbox.snapshot().contracts).toMatchObject([
      { status: 'ended', budget: { fundedVolume: 7, fundedAmountUsd: 90 } },
    ]);

    const consent = ['do', `installs/${installId}/consent`, '{"piiConsent":false}'];
    expect(await runJson(url, ...consent)).toEqual({ installId, piiConsent: false });
    expect(sandbox.snapshot().installs).toMatchObject([{ piiConsent: false }]);

    const { token } = await runJson(url, 'do', `installs/${installId}/reconnect`);
    expect(token).toMatch(/^ot_ptk_/);
    expect(sandbox.snapshot().installs).toMatchObject([{ status: 'REVOKED' }, { status: 'ACTIVE' }]);
  });

  it('show the state without control characters', async () => {
    const { sandbox, url, jobId, link, installId } = await openWorld();
    await link('streets\u001b[31m');
    sandbox.hire({ jobId, trainers: [{ displayName: 'Ana\u001b[2J M.' }] });
    expect(await runJson(url, 'state')).toEqual(sandbox.snapshot());
    const text = await runText(url, 'state');
    expect(text).toContain(installId);
    expect(text).toContain('streets');
    expect(text).not.toContain('\u001b');
    expect(JSON.parse(text)).toMatchObject({ jobs: [{ id: jobId }], webhookEndpoints: [] });
  });

  it('say what to do if no sandbox answers', async () => {
    const { sandbox, url } = await openWorld();
    await sandbox.stop();
    await expect(runText(url, 'hire')).rejects.toMatchObject({
      code: 'unavailable',
      message: `No sandbox answers at ${url}; start one with: gangway sandbox`,
    });
  });

  it('show why the sandbox refused', async () => {
    const { url } = await openWorld();
    await expect(runText(url, 'end', 'ctr_unknown')).rejects.toMatchObject({
      code: 'not_found',
      message: 'The sandbox refused: No contract ctr_unknown',
    });
    await expect(runText(url, 'end', '../installs')).rejects.toMatchObject({ code: 'not_found' });
  });
});

function openTerminal() {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const written = new PassThrough({ encoding: 'utf8' });
  const terminal: Terminal = {
    stdout: written,
    stderr: new PassThrough(),
    stdin: process.stdin,
    signal: stopping.signal,
  };
  const stdout = {
    next: async () => {
      if (written.readableLength === 0) await once(written, 'readable');
      return String(written.read());
    },
    all: () => String(written.read() ?? ''),
  };
  return { terminal, stdout, stop: () => stopping.abort() };
}

/** As the table of commands holds it: below a program that has options of its own. */
async function run(terminal: Terminal, ...args: string[]): Promise<void> {
  const sandbox = createSandboxCommand(terminal);
  for (const command of [sandbox, ...sandbox.commands]) {
    command.exitOverride().configureOutput({ writeErr: () => {} });
  }
  const program = new Command('gangway').addCommand(sandbox);
  await program.parseAsync(['sandbox', ...args], { from: 'user' });
}

async function runText(url: string, ...args: string[]): Promise<string> {
  const { terminal, stdout } = openTerminal();
  await run(terminal, ...args, '--url', url);
  return stdout.all();
}

async function runJson(url: string, ...args: string[]) {
  return JSON.parse(await runText(url, ...args, '--json'));
}
