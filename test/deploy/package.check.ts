import { spawn } from 'node:child_process';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createFolder } from '../support/folder.ts';
import { readRoster } from '../support/roster.ts';
import { connecting, letFirstMemberIn, run } from './first-member.ts';

it('the package lets a first member in', async () => {
  const [folder, prefix] = [createFolder(), createFolder()];
  await run('npm', ['pack', '--silent', '--pack-destination', folder]);
  const env = { ...process.env, npm_config_prefix: prefix, PATH: `${prefix}/bin:${process.env['PATH']}` };
  await letFirstMemberIn({
    name: 'package',
    commands: (marketplace) => [
      'npm install --silent --global ./gangway-*.tgz',
      `gangway init --marketplace-url ${marketplace.baseUrl}`,
      ...connecting(marketplace),
      'gangway start',
    ],
    async type(command) {
      if (command !== 'gangway start') return void (await run('sh', ['-c', command], { cwd: folder, env }));
      const bridge = spawn('gangway', ['start'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
      onTestFinished(() => void bridge.kill('SIGKILL'));
    },
    members: () => readRoster(path.join(folder, 'data/roster.json'))['street-signs'] ?? [],
  });
  const { stdout } = await run('sh', ['-c', 'gangway status --json'], { cwd: folder, env });
  expect(JSON.parse(stdout)).toMatchObject({ instances: [{ state: 'running' }] });
});

it('a checkout lets a first member in', async () => {
  const parent = createFolder();
  const folder = path.join(parent, 'gangway');
  const shell = (command: string) =>
    run('bash', ['-c', `gangway() { npm run --silent gangway -- "$@"; }; ${command}`], { cwd: folder });
  await letFirstMemberIn({
    name: 'checkout',
    commands: (marketplace) => [
      `git clone --quiet ${path.resolve('.')} gangway`,
      'npm ci --silent',
      "alias gangway='npm run --silent gangway --'",
      `gangway init --marketplace-url ${marketplace.baseUrl}`,
      ...connecting(marketplace),
      'gangway start',
    ],
    async type(command) {
      if (command.startsWith('git ')) await run('bash', ['-c', command], { cwd: parent });
      else if (command !== 'gangway start') await shell(command);
      else {
        const bridge = spawn('node', ['bin/gangway.js', 'start'], {
          cwd: folder,
          stdio: ['ignore', 'ignore', 'inherit'],
        });
        onTestFinished(() => void bridge.kill('SIGKILL'));
      }
    },
    members: () => readRoster(path.join(folder, 'data/roster.json'))['street-signs'] ?? [],
  });
});
