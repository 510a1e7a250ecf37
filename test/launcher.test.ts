import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { programFile } from './support/built-program.ts';
import { createFolder } from './support/folder.ts';

/** A checkout whose programs say which they are. */
function openCheckout(changed: Record<string, number>): string {
  const folder = createFolder();
  for (const name of ['bin', 'dist', 'src', 'migrations']) mkdirSync(path.join(folder, name));
  for (const name of ['gangway.js', 'check-node.js']) copyFileSync(`bin/${name}`, path.join(folder, 'bin', name));
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(path.join(folder, 'dist/main.js'), "console.log('bundle');");
  writeFileSync(path.join(folder, 'src/main.ts'), "console.log('sources' as string);");
  for (const [name, at] of Object.entries(changed)) utimesSync(path.join(folder, name), at, at);
  return folder;
}

function run(folder: string): string {
  return execFileSync(process.execPath, ['bin/gangway.js'], { cwd: folder, encoding: 'utf8' }).trim();
}

describe('the launcher of a checkout', () => {
  const built = { 'dist/main.js': 2000, 'src/main.ts': 1000, src: 1000, migrations: 1000 };

  it('runs what was built', () => {
    expect(run(openCheckout(built))).toBe('bundle');
  });

  it('reads --env-file itself: Node ended with status 9 where the file was missing', () => {
    const folder = openCheckout(built);
    writeFileSync(path.join(folder, 'dist/main.js'), "console.log(process.argv.slice(2).join(' '));");
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
    const image = /^ENTRYPOINT (.*)$/m.exec(readFileSync('Dockerfile', 'utf8'))?.[1] ?? '';
    const commands = [scripts.start, scripts.gangway, JSON.parse(image).join(' ').replace('/app', '.')];
    for (const command of commands) {
      const [, ...argv] = `${command} --env-file missing`.split(' ');
      const said = execFileSync(process.execPath, argv, { cwd: folder, encoding: 'utf8' });
      expect(said).toMatch(/--env-file missing\n$/);
    }
  });

  it('runs the sources where one of them is newer', () => {
    expect(run(openCheckout({ ...built, 'src/main.ts': 3000 }))).toBe('sources');
  });

  it('runs the sources where one of them was taken away', () => {
    expect(run(openCheckout({ ...built, migrations: 3000 }))).toBe('sources');
  });
});

describe('a Node.js that is too old', () => {
  const { version, versions } = process;
  const isOld = Object.assign({ ...versions }, { node: '20.20.2' });
  const pretend = `Object.defineProperty(process, 'versions', { value: ${JSON.stringify(isOld)} })`;

  it.each(['bin/gangway.js', programFile])('is refused with the version that is needed: %s', (program) => {
    const preload = `data:text/javascript,${encodeURIComponent(pretend)}`;
    const { status, stderr } = spawnSync(process.execPath, ['--import', preload, program, '--version'], {
      encoding: 'utf8',
    });
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
    const needed = engines.node.replace('>=', '');
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringContaining(`Gangway needs Node.js ${needed} or newer, and this is ${version}`),
    });
  });

  it('loads the check before anything that it may lack', () => {
    // A static import of what an old Node.js lacks fails before the first line runs.
    expect(readFileSync(programFile, 'utf8')).not.toMatch(/^import\b(?!\()/m);
    expect(readFileSync('bin/check-node.js', 'utf8')).not.toMatch(/^import\b/m);
  });
});
