import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFolder } from './support/folder.ts';

/** A checkout whose programs say which they are. */
function openCheckout(changed: Record<string, number>): string {
  const folder = createFolder();
  for (const name of ['bin', 'dist', 'src', 'migrations']) mkdirSync(path.join(folder, name));
  copyFileSync('bin/gangway.js', path.join(folder, 'bin/gangway.js'));
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
