import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';

const hook = path.resolve('test/cli/loaded-modules.ts');

/** What a process loads for this line: packages by name, and folders of ours. */
async function loadedBy(...argv: string[]): Promise<{ packages: string[]; folders: string[] }> {
  const run = promisify(execFile);
  const line = ['--import', hook, path.resolve('src/main.ts'), ...argv];
  const { stderr } = await run(process.execPath, line).catch((error: unknown) => error as { stderr: string });
  const urls = stderr.split('\n').filter((one) => one.startsWith('file:'));
  return {
    packages: distinct(urls, /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/),
    folders: distinct(urls, /\/src\/([^/]+)\/(?!.*node_modules)/),
  };
}

function distinct(texts: string[], pattern: RegExp): string[] {
  return [...new Set(texts.flatMap((text) => pattern.exec(text)?.[1] ?? []))].sort();
}

describe('a command loads only what it needs', () => {
  it.each(['--help', '--version', 'frobnicate', 'adapter test --help'])(
    '"gangway %s": commander, and no other package',
    async (line) => {
      const { packages, folders } = await loadedBy(...line.split(' '));
      expect(packages).toEqual(['commander']);
      expect(
        folders.filter((folder) => !['adapters', 'cli', 'config', 'domain', 'lib', 'operations'].includes(folder)),
      ).toEqual([]);
    },
  );

  it('a list: the database, and no services', async () => {
    const { configFile } = createBridgeWorkspace();
    const { packages } = await loadedBy('plans', 'list', '--config', configFile);
    expect(packages).toEqual(expect.arrayContaining(['commander', 'kysely', 'zod']));
    expect(packages.filter((name) => ['prom-client', 'nodemailer', 'express', 'pino', 'pg'].includes(name))).toEqual(
      [],
    );
  });

  it('"gangway status": the database, and nothing that asks a marketplace or a tool', async () => {
    const { configFile } = createBridgeWorkspace();
    const { folders } = await loadedBy('status', '--config', configFile);
    expect(folders).toContain('operations');
    const asking = ['http', 'sources', 'tools'];
    expect(folders.filter((folder) => asking.includes(folder))).toEqual([]);
  });
});

describe('a command', () => {
  const declared = globSync('src/cli/commands/*.ts').flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(/defineCommand\(\{\s+name: '(\w+)'[\s\S]*?\)\)\.(\w+),/g),
  ]);

  it.each(declared.map(([, name = '', runs = '']) => [name, runs]))(
    '%s runs a function that is named for it',
    (name, runs) => {
      expect(runs).toMatch(new RegExp(`^run([A-Z]\\w*)?${name.charAt(0).toUpperCase()}${name.slice(1)}$`));
    },
  );
});
