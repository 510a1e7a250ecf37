import { spawn } from 'node:child_process';
import { copyFileSync, globSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createFolder } from '../support/folder.ts';
import { readRoster } from '../support/roster.ts';
import { until } from '../support/until.ts';
import { connecting, letFirstMemberIn, run } from './first-member.ts';

/** Debian with systemd and Node, which `.ci/unit` makes. It is booted as a container that shares the network. */
const root = process.env['UNIT_ROOT'] ?? '';
if (root === '') process.stderr.write('*** NOT RUN: there is no root for a container. .ci/unit makes it ***\n');

const stopMs = 10_000;
const gangway = 'runuser -u gangway -- gangway';

it.skipIf(root === '')('the systemd unit lets a first member in, and ends in time', async () => {
  const folder = createFolder();
  await run('npm', ['pack', '--silent', '--pack-destination', folder]);
  const [file = ''] = globSync(path.join(folder, 'gangway-*.tgz'));
  const inside = await boot();
  const data = path.join(root, 'var/lib/gangway/data');
  await letFirstMemberIn({
    name: 'systemd unit',
    commands: (marketplace) => [
      `npm install --global ${file}`,
      'useradd --system --create-home --home-dir /var/lib/gangway gangway',
      'cp deploy/systemd/gangway.service /etc/systemd/system/',
      `cd /var/lib/gangway && ${gangway} init --marketplace-url ${marketplace.baseUrl}`,
      ...connecting(marketplace, gangway).map((command) => `cd /var/lib/gangway && ${command}`),
      'systemctl enable --now gangway',
    ],
    async type(command) {
      if (command.startsWith('npm ')) {
        // There is no npm inside.
        const prefix = ['--prefix', path.join(root, 'usr/local')];
        await run('npm', ['install', '--silent', '--global', ...prefix, file]);
      } else if (command.startsWith('cp ')) {
        copyFileSync('deploy/systemd/gangway.service', path.join(root, 'etc/systemd/system/gangway.service'));
      } else await inside(command);
    },
    members: () => readRoster(path.join(data, 'roster.json'))['street-signs'] ?? [],
  });
  const shown = async (property: string) => (await inside(`systemctl show --value -p ${property} gangway`)).trim();
  expect([await shown('ActiveState'), await shown('NRestarts')]).toEqual(['active', '0']);
  expect((await inside('ps -o user= -p "$(systemctl show --value -p MainPID gangway)"')).trim()).toBe('gangway');
  const askedAt = performance.now();
  await inside('systemctl stop gangway');
  expect(performance.now() - askedAt).toBeLessThan(stopMs);
  expect([await shown('Result'), await shown('ExecMainStatus')]).toEqual(['success', '0']);
});

/** @returns runs a command inside, as root */
async function boot(): Promise<(command: string) => Promise<string>> {
  const flags = ['--quiet', '--register=no', '--keep-unit', '--link-journal=no', '--console=pipe'];
  const container = spawn('systemd-nspawn', [...flags, `--directory=${root}`, '--boot'], { stdio: 'ignore' });
  const leader = await until(
    'it has booted',
    // Before systemd, another child is there for a moment.
    async () =>
      (await run('pgrep', ['-x', '-P', `${container.pid}`, 'systemd']).catch(() => ({ stdout: '' }))).stdout.trim(),
    (pid) => pid !== '',
  );
  // The end of `systemd-nspawn` alone would leave what runs inside.
  onTestFinished(() => void process.kill(Number(leader), 'SIGKILL'));
  const inside = async (command: string) =>
    (await run('nsenter', ['--target', leader, '--mount', '--uts', '--ipc', '--pid', 'sh', '-c', command])).stdout;
  const state = () => inside('systemctl is-system-running').catch(({ stdout }: { stdout: string }) => stdout);
  await until('systemd is ready', state, (said) => /running|degraded/.test(said));
  return inside;
}
