import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createFolder } from '../support/folder.ts';

const version = '0.1.0';
const name = `gangway-${version}`;

/** A clone of this checkout, as it was committed. */
function clone() {
  const folder = path.join(createFolder(), 'gangway');
  execFileSync('git', ['clone', '--quiet', '.', folder]);
  symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  for (const [key, value] of [
    ['user.name', 'Release'],
    ['user.email', 'release@example.com'],
  ]) {
    execFileSync('git', ['-C', folder, 'config', key ?? '', value ?? '']);
  }
  appendFileSync(path.join(folder, '.git/info/exclude'), 'node_modules\n');
  return {
    folder,
    release(wanted?: string) {
      const { status, stdout, stderr } = spawnSync('bash', ['.ci/release', ...(wanted === undefined ? [] : [wanted])], {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, CHECKS: 'true' },
      });
      return { status, said: stdout + stderr };
    },
  };
}

it('a release has the package, its contents, its changes and checksums, and is made once', () => {
  const { folder, release } = clone();
  expect(release(version)).toEqual({
    status: 0,
    said: expect.stringContaining(`push the commit and the tag v${version}`),
  });
  const files = path.join(folder, 'release');
  expect(readdirSync(files).sort()).toEqual(['SHA256SUMS', `${name}.md`, `${name}.sbom.json`, `${name}.tgz`]);
  execFileSync('sha256sum', ['--check', '--quiet', '--strict', 'SHA256SUMS'], { cwd: files });
  const { components } = JSON.parse(readFileSync(path.join(files, `${name}.sbom.json`), 'utf8')) as {
    components: { name: string; version: string }[];
  };
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> };
  const contained = components.map((one) => `${one.name}@${one.version}`);
  expect(contained).toEqual(expect.arrayContaining(Object.entries(dependencies).map((pair) => pair.join('@'))));
  expect(contained.filter((one) => one.startsWith('vitest@'))).toEqual([]);
  expect(readFileSync(path.join(files, `${name}.md`), 'utf8')).toMatch(/^\n- Receives signed webhooks/);
  execFileSync('tar', ['-xzf', `${name}.tgz`, 'package/dist', 'package/package.json'], { cwd: files });
  const said = execFileSync(process.execPath, ['package/dist/main.js', '--version'], { cwd: files, encoding: 'utf8' });
  expect(said).toContain(`gangway ${version} (commit `);
  expect(execFileSync('git', ['-C', folder, 'log', '-1', '--format=%s', 'HEAD'], { encoding: 'utf8' })).toBe(
    `release: version ${version}\n`,
  );
  expect(release(version)).toEqual({ status: 1, said: `v${version} was released before\n` });
});

it.each([
  ['no version', undefined, 64, 'Say which version: .ci/release 1.2.3\n'],
  ['a version without changes', '9.9.9', 1, 'CHANGELOG.md has no section "## 9.9.9 (unreleased)"\n'],
])('is refused for %s, and changes nothing', (_what, wanted, status, said) => {
  const { folder, release } = clone();
  expect(release(wanted)).toEqual({ status, said });
  expect(execFileSync('git', ['-C', folder, 'status', '--porcelain'], { encoding: 'utf8' })).toBe('');
});

it('is refused while something is not committed', () => {
  const { folder, release } = clone();
  appendFileSync(path.join(folder, 'README.md'), '\n');
  expect(release(version)).toEqual({ status: 1, said: 'Commit what has changed first\n' });
});
