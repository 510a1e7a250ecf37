import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { createFolder } from '../support/folder.ts';
import { installPythonPackage } from '../tools/python-package.ts';

/** What `deploy/` says to systemd, Compose and Kubernetes, as their own tools read it. */

function run(command: string, ...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 120_000 });
  return { status, output: `${stdout}${stderr}` };
}

/** @returns whether it is not there, which is said */
function lacks(command: string, ...args: string[]): boolean {
  const isMissing = run(command, ...args).status !== 0;
  if (isMissing) process.stderr.write(`*** NOT RUN: ${command} is not installed ***\n`);
  return isMissing;
}

describe.skipIf(lacks('systemd-analyze', '--version'))('the systemd unit', () => {
  const unit = path.resolve('deploy/systemd/gangway.service');

  it('exposes less than 2.0 of 10', () => {
    const { output } = run('systemd-analyze', 'security', '--offline=true', '--no-pager', unit);
    const [, level = ''] = /Overall exposure level for gangway\.service: ([\d.]+)/.exec(output) ?? [];
    expect(level, output).not.toBe('');
    expect(Number(level)).toBeLessThan(2);
  });

  it('has nothing that systemd does not know', () => {
    const { output } = run('systemd-analyze', 'verify', '--man=no', unit);
    expect(
      output.split('\n').filter((line) => line.includes('gangway.service') && !line.includes('not executable')),
    ).toEqual([]);
  });
});

describe.skipIf(lacks('docker-compose', '--version'))('the Compose file', () => {
  it('is valid with every profile, and leaves only the ports of Caddy open', () => {
    // Beside the original, because its paths are relative. Debian's Compose does not know `name`.
    const copy = 'deploy/.compose-check.yaml';
    writeFileSync(copy, readFileSync('deploy/compose.yaml', 'utf8').replace('name: gangway\n', ''));
    onTestFinished(() => rmSync(copy));
    const { status, output } = run(
      'docker-compose',
      '-f',
      copy,
      '--profile',
      'postgres',
      '--profile',
      'monitoring',
      'config',
    );
    expect(status, output).toBe(0);
    const ports = [...output.matchAll(/published: (\d+)|- ([\d.]+:\d+):\d+\/tcp/g)].map(([, all, one]) => all ?? one);
    expect(ports).toEqual(['80', '443', '127.0.0.1:3000']);
  });
});

describe('the files for Kubernetes', () => {
  it('are what its API takes', async ({ skip }) => {
    const bin = await installPythonPackage('kubernetes-validate', ['kubernetes-validate==1.33.1']);
    if (bin === null) return skip('kubernetes-validate could not be installed');
    const files = globSync('deploy/kubernetes/*.yaml').filter((file) => !file.endsWith('kustomization.yaml'));
    const { status, output } = run(path.join(bin, 'kubernetes-validate'), '--strict', ...files);
    expect(status, output).toBe(0);
    expect(output.match(/passed for resource/g)?.length).toBe(5);
  });

  it('are all named by the Kustomization', () => {
    const text = readFileSync('deploy/kubernetes/kustomization.yaml', 'utf8');
    const named = [...text.matchAll(/[\w.-]+\.(yaml|json)/g)]
      .map(([file]) => file)
      .filter((file) => file !== 'deployment.yaml');
    const others = globSync('*', { cwd: 'deploy/kubernetes' }).filter((file) => file !== 'kustomization.yaml');
    expect([...new Set(named), 'deployment.yaml'].sort()).toEqual(others.sort());
  });

  it('give Gangway a configuration that it takes, with its secrets from files', () => {
    const folder = createFolder();
    const text = readFileSync('deploy/kubernetes/deployment.yaml', 'utf8');
    const secrets = '/run/secrets/gangway';
    const env: Record<string, string> = { NODE_ENV: 'production' };
    for (const [, name = '', value = ''] of text.matchAll(/name: (\w+), value: ([^ ]+) /g))
      env[name] = value.replace(secrets, folder);
    const values = {
      'database-url': 'postgres://gangway@db/gangway',
      'secret-key': `${Buffer.alloc(32, 7).toString('base64')}\n`,
      'console-token': `${'t'.repeat(40)}\n`,
      'studio-token': 'token\n',
    };
    for (const [name, value] of Object.entries(values)) writeFileSync(path.join(folder, name), value);
    const config = readFileSync('deploy/kubernetes/gangway.config.json', 'utf8').replaceAll(secrets, folder);
    const file = path.join(folder, 'gangway.config.json');
    writeFileSync(file, config);
    const loaded = loadConfig({ path: file, env });
    expect(loaded.config.database.url).toBe(values['database-url']);
    expect(loaded.secretKey).toEqual(Buffer.alloc(32, 7));
    expect(loaded.warnings).toEqual([]);
  });
});
