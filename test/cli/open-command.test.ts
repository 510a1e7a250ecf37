import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';
import { createFolder } from '../support/folder.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';

const tokens = { ada: { token: 'a-token-of-twenty-characters', role: 'viewer' } };
let opened: string;

/** A desktop whose browser records its arguments. */
beforeEach(() => {
  const folder = createFolder();
  opened = path.join(folder, 'opened');
  for (const program of ['xdg-open', 'open']) {
    writeFileSync(
      path.join(folder, program),
      `#!/bin/sh\nprintf %s "$1" > '${opened}.part' && mv '${opened}.part' '${opened}'\n`,
    );
    chmodSync(path.join(folder, program), 0o755);
  }
  vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`);
  vi.stubEnv('DISPLAY', ':0');
  onTestFinished(() => void vi.unstubAllEnvs());
});

function configure(console: object): string {
  return createBridgeWorkspace({ console }).configFile;
}

async function openAtTerminal(configFile: string): Promise<string> {
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  const { stdin, stderr } = process;
  const status = await runCli(['open', '--config', configFile], { stdin, stdout, stderr, signal: AbortSignal.any([]) });
  expect(status).toBe(0);
  return String(stdout.read());
}

it('opens the console in a browser at a terminal', async ({ skip }) => {
  skip(process.platform === 'win32', 'the browser of the test is a shell script');
  expect(await openAtTerminal(configure({ port: 9123, tokens }))).toBe('http://127.0.0.1:9123\n');
  await until('the browser has it', () => existsSync(opened), Boolean);
  expect(readFileSync(opened, 'utf8')).toBe('http://127.0.0.1:9123');
});

it('only prints the address without a terminal', async () => {
  const configFile = configure({ host: '0.0.0.0', port: 9123, token: 'for-the-metrics', tokens });
  const { stdout } = await runCommand('open', '--config', configFile);
  expect(stdout).toBe('http://127.0.0.1:9123\n');
  const json = await runCommand('open', '--config', configFile, '--json');
  expect(JSON.parse(json.stdout)).toEqual({ url: 'http://127.0.0.1:9123', isOpened: false });
});

it('only prints the address without a browser', async () => {
  vi.stubEnv('PATH', createFolder());
  expect(await openAtTerminal(configure({ host: '::1', port: 9123, tokens }))).toBe('http://[::1]:9123\n');
});

it.each([
  [{ port: 9123 }, 'The console is off. Add console.tokens to the configuration and restart'],
  [{ port: 0, tokens }, 'console.port is 0'],
])('says why there is nothing to open with %j', async (console, said) => {
  const { status, stderr } = await runCommand('open', '--config', configure(console));
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(said) });
});
