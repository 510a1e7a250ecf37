import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSandboxCommand } from '../../src/cli/sandbox-command.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { openWorld, request } from './sandbox-harness.ts';

describe('gangway sandbox', () => {
  it('runs a marketplace with a demo install until it is told to stop', async () => {
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

  it('says in words where it is and what to do next', async () => {
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
    ['fund', 'ctr_1', '--volume', 'much'],
    ['end'],
    ['nonsense'],
  ])('refuses %s %s', async (...args) => {
    await expect(run(openTerminal().terminal, ...args)).rejects.toThrow(/error:/);
  });

  it('explains every option and argument', () => {
    const command = createSandboxCommand(openTerminal().terminal);
    for (const { description, options, registeredArguments } of [command, ...command.commands].map(
      (one) => ({
        description: one.description(),
        options: one.options,
        registeredArguments: one.registeredArguments,
      }),
    )) {
      expect(description).not.toBe('');
      for (const option of [...options, ...registeredArguments]) {
        expect(option.description).not.toBe('');
      }
    }
  });
});

describe('the commands that act as customers', () => {
  it('hire for the newest job, or the one that is named', async () => {
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

  it('end, fund, give and withdraw consent, and reconnect', async () => {
    const { sandbox, url, jobId, installId } = await openWorld();
    const { contractId } = sandbox.hire({ jobId });
    expect(await runText(url, 'fund', contractId, '--volume', '7', '--amount', '90')).toContain(
      '7 for 90 USD',
    );
    expect(await runText(url, 'end', contractId)).toBe(`Contract ${contractId} ended\n`);
    expect(sandbox.snapshot().contracts).toMatchObject([
      { status: 'ended', budget: { fundedVolume: 7, fundedAmountUsd: 90 } },
    ]);

    expect(await runText(url, 'consent', installId, '--withdraw')).toContain('no longer sees');
    expect(sandbox.snapshot().installs).toMatchObject([{ piiConsent: false }]);
    expect(await runJson(url, 'consent', installId)).toEqual({ installId, piiConsent: true });
    expect(sandbox.snapshot().installs).toMatchObject([{ piiConsent: true }]);

    const { token } = await runJson(url, 'reconnect', installId);
    expect(token).toMatch(/^ot_ptk_/);
    expect(sandbox.snapshot().installs).toMatchObject([
      { status: 'REVOKED' },
      { status: 'ACTIVE' },
    ]);
  });

  it('show the state, whatever strangers wrote into it', async () => {
    const { sandbox, url, jobId, link, installId } = await openWorld();
    await link('streets\u001b[31m');
    sandbox.hire({ jobId, trainers: [{ displayName: 'Ana\u001b[2J M.' }] });
    expect(await runJson(url, 'state')).toEqual(sandbox.snapshot());
    const text = await runText(url, 'state');
    expect(text).toContain(installId);
    expect(text).toContain('streets');
    expect(text).toContain('Ana M.');
    expect(text).toContain('Endpoints: none');
    expect(text).not.toContain('\u001b');
  });

  it('say what to do when no sandbox answers', async () => {
    const { sandbox, url } = await openWorld();
    await sandbox.stop();
    await expect(runText(url, 'hire')).rejects.toMatchObject({
      code: 'unavailable',
      message: `No sandbox answers at ${url}; start one with: gangway sandbox`,
    });
  });

  it('say what the sandbox has against it', async () => {
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
