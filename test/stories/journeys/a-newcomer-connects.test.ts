import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { takeFreePort } from '../../../src/cli/try-command.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { blocksOf, commandsIn, wordsOf } from '../../docs/markdown.ts';
import { createFolder } from '../../support/folder.ts';
import { readRoster } from '../../support/roster.ts';
import { type RunningCommand, runCommand, startCommand, startWatched } from '../../support/run-command.ts';
import { until } from '../../support/until.ts';
import { createVisitor } from '../../support/visitor.ts';

/** By the commands of the README alone, from an empty folder on. */
it('from an empty folder to people in the tool, and through a reconnect', async () => {
  const sandbox = createSandbox();
  const { baseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const customer = sandbox.createInstall();
  const { id: job } = sandbox.createJob({ installId: customer.installId });
  const folder = createFolder();
  const config = path.join(folder, 'gangway.config.json');
  const port = await takeFreePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const [init, connectAcme, addLink, start, status] = commandsOfReadme(publicUrl, job);

  const run = async (...argv: string[]) => {
    const result = await runCommand(...argv, '--config', config);
    expect(result).toMatchObject({ status: 0 });
    return result;
  };
  const connect = async (token: string, ...argv: string[]) => {
    const file = path.join(folder, 'token');
    writeFileSync(file, token);
    return await run(...connectAcme, '--token-file', file, ...argv);
  };
  const roster = () => Object.values(readRoster(path.join(folder, 'data/roster.json'))).flat();
  const rosterIs = async (...ids: string[]) =>
    await until(
      'the roster follows',
      () => roster().toSorted().join(),
      (now) => now === ids.toSorted().join(),
    );

  await run(...init, '--marketplace-url', baseUrl);
  listenAt(config, port);
  await connect(customer.token);
  await run(...addLink);
  const bridge = stopped(startWatched(...start, '--config', config));
  const said = await until('it runs', bridge.stderr, (log) => log.includes('works once'));
  const { origin, pathname } = new URL(/http:\S+\/sign-in\/\S+/.exec(said)?.[0] ?? '');
  const visitor = createVisitor(origin);
  expect((await visitor.press(await visitor.visit(pathname), 'Sign in')).body).toContain('admin · operator');

  await run(...status);
  const first = hire();
  await rosterIs(first.trainerId);

  const renewed = sandbox.reconnect(customer.installId);
  await connect(renewed.token, '--yes');
  expect(roster()).toEqual([first.trainerId]);
  const second = hire();
  await rosterIs(first.trainerId, second.trainerId);
  sandbox.endContract(first.contractId);
  await rosterIs(second.trainerId);
  // The events of the end of the old connection have come by now, and have changed nothing.
  const { stdout } = await run('explain', second.trainerId);
  expect(stdout).not.toMatch(/^ {2}no /m);

  function hire() {
    const { contractId, trainers } = sandbox.hire({ jobId: job });
    return { contractId, trainerId: trainers[0]?.opentrainUserId ?? '' };
  }
});

it.each([
  ['a customer', []],
  ['an account of their own', ['account']],
])('with %s, by the commands that the sandbox prints', async (_, whose) => {
  const sandbox = stopped(startCommand('sandbox', '--port', '0'));
  const running = await until('the sandbox runs', sandbox.stdout, (text) => text.includes('with your own account'));
  const url = /on (http:\S+)/.exec(running)?.[1] ?? '';
  const says = whose.length === 0 ? running : (await runCommand('sandbox', ...whose, '--url', url)).stdout;
  const folder = createFolder();
  await follow(says, path.join(folder, 'gangway.config.json'));
  const roster = () => readRoster(path.join(folder, 'data/roster.json'));
  await until('they are in', roster, (groups) => groups['street-signs']?.length === 1);
});

/** Runs the commands in a text, up to the first hire. */
async function follow(says: string, config: string): Promise<void> {
  const port = await takeFreePort();
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const [, token, words = ''] of says.matchAll(/(?:GANGWAY_CONNECT_TOKEN=(\S+) )?gangway (.+)/g)) {
    vi.stubEnv('GANGWAY_CONNECT_TOKEN', token);
    const argv = wordsOf(words.replace(':8787', `:${port}`));
    if (argv[0] === 'sandbox') return void (await runCommand(...argv));
    if (argv[0] === 'start') {
      const bridge = stopped(startCommand(...argv, '--config', config));
      await until('it runs', bridge.stderr, (log) => log.includes('Gangway is running'));
      continue;
    }
    const { status, stderr } = await runCommand(...argv, '--config', config);
    expect([words, status, stderr]).toEqual([words, 0, expect.anything()]);
    if (argv[0] === 'init') listenAt(config, port);
  }
}

/** A command that runs until the test is over. */
function stopped(command: RunningCommand): RunningCommand {
  onTestFinished(async () => {
    command.stop();
    await command.ended;
  });
  return command;
}

/** The five by which a customer is connected, with what its reader puts in them. */
function commandsOfReadme(publicUrl: string, job: string): [string[], string[], string[], string[], string[]] {
  const block = blocksOf('README.md').find(({ text }) => text.includes('gangway connect'))?.text ?? '';
  const lines = commandsIn(block.replace('https://bridge.example.com', publicUrl).replace('<job>', job));
  const [init = [], connect = [], link = [], start = [], status = []] = lines.map((line) => wordsOf(line).slice(1));
  return [init, connect, link, start, status];
}

/** Where it says to the marketplace that it listens; the usual ports may be taken on this machine. */
function listenAt(config: string, port: number): void {
  const document = JSON.parse(readFileSync(config, 'utf8')) as { receiver: object; console: object };
  const receiver = { ...document.receiver, host: '127.0.0.1', port, drain: '0s' };
  writeFileSync(config, JSON.stringify({ ...document, receiver, console: { ...document.console, port: 0 } }));
}
