import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** `TEST_TOOLS_CACHE` names a folder that `npm ci` does not delete. */
const cache = path.resolve(
  process.env['TEST_TOOLS_CACHE'] ?? path.join(import.meta.dirname, '../../node_modules/.cache/gangway-tools'),
);
const installMs = 600_000;

/**
 * A package of Python's index with what it needs, in an environment of its own that is kept for the
 * next run.
 *
 * @param requirements such as `label-studio==1.22.0`, and whatever else it turns out to need
 * @returns where its commands are; null, with a loud line, where the index cannot be reached
 */
export async function installPythonPackage(name: string, requirements: readonly string[]): Promise<string | null> {
  const folder = path.join(cache, `${name}-${requirements.join('-').replaceAll(/[^\w.-]/g, '_')}`);
  const bin = path.join(folder, 'bin');
  const done = path.join(folder, 'installed');
  if (existsSync(done)) return bin;
  await rm(folder, { recursive: true, force: true });
  await mkdir(cache, { recursive: true });
  try {
    await run('python3', ['-m', 'venv', folder], { timeout: installMs });
    const patience = ['--timeout', '20', '--retries', '2'];
    const pip = ['install', '--quiet', '--disable-pip-version-check', ...patience, ...requirements];
    await run(path.join(bin, 'pip'), pip, { timeout: installMs, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    process.stderr.write(`\n*** NOT RUN: ${name} could not be installed from Python's index ***\n`);
    process.stderr.write(`${(stderr ?? String(error)).slice(-2000)}\n\n`);
    return null;
  }
  writeFileSync(done, '');
  return bin;
}
