import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { conformanceCases } from '../../src/adapters/conformance.ts';
import { programFile } from '../support/built-program.ts';
import { createFolder } from '../support/folder.ts';
import { runCommand } from '../support/run-command.ts';

describe('gangway adapter new', () => {
  let folder: string;
  let file: string;

  /** A folder in which the package is installed. */
  beforeEach(() => {
    folder = createFolder();
    file = path.join(folder, 'my-tool.ts');
    const installed = path.join(folder, 'node_modules', 'gangway');
    mkdirSync(installed, { recursive: true });
    symlinkSync(path.resolve('package.json'), path.join(installed, 'package.json'));
    symlinkSync(path.dirname(programFile), path.join(installed, 'dist'));
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  });

  function run(script: string, ...args: string[]) {
    // Node runs the tests of another way than by itself where it is a test's child.
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    return spawnSync(process.execPath, [script, ...args], { cwd: folder, encoding: 'utf8', env });
  }

  const runTest = () => run('--test', '--test-reporter=tap', 'my-tool.test.ts');

  it('writes an adapter that passes its test, which runs every case of the suite', async () => {
    const { status, stdout } = await runCommand('adapter', 'new', file);
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(`node --test ${folder}`) });
    const passed = runTest();
    expect(passed.stdout).toMatch(/^# fail 0$/m);
    expect(passed.status).toBe(0);
    for (const { name } of conformanceCases) expect(passed.stdout).toContain(`- ${name}`);
  });

  it('writes the same from the bundle', async () => {
    await runCommand('adapter', 'new', file);
    const [adapter, test] = ['my-tool.ts', 'my-tool.test.ts'].map((name) =>
      readFileSync(path.join(folder, name), 'utf8'),
    );
    const other = createFolder();
    expect(run(programFile, 'adapter', 'new', path.join(other, 'my-tool.ts')).status).toBe(0);
    expect(readFileSync(path.join(other, 'my-tool.ts'), 'utf8')).toBe(adapter);
    expect(readFileSync(path.join(other, 'my-tool.test.ts'), 'utf8')).toBe(test);
    expect(adapter).toContain("from 'gangway/kit'");
    expect(adapter).not.toMatch(/'\.\.\//);
  });

  it('writes a test that fails where the adapter breaks its contract', async () => {
    await runCommand('adapter', 'new', file);
    const adapter = readFileSync(file, 'utf8');
    writeFileSync(file, adapter.replace("method: 'DELETE'", "method: 'GET'"));
    const { status, stdout } = runTest();
    expect(status).toBe(1);
    expect(stdout).toMatch(/^not ok \d+ - does not find a removed member/m);
  });

  it('writes what compiles, with the types that the package has', async () => {
    await runCommand('adapter', 'new', file);
    const options = {
      ...{ noEmit: true, strict: true, target: 'es2024', lib: ['es2024', 'esnext.array'], module: 'nodenext' },
      ...{ allowImportingTsExtensions: true, types: ['node'], typeRoots: [path.resolve('node_modules/@types')] },
      paths: { 'gangway/*': [path.resolve('src/adapters/*.ts')] },
    };
    const settings = { compilerOptions: options, files: ['my-tool.ts', 'my-tool.test.ts'] };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(settings));
    const compile = () => run(path.resolve('node_modules/typescript/bin/tsc'), '-p', folder);
    expect(compile()).toMatchObject({ status: 0, stdout: '' });
    writeFileSync(file, readFileSync(file, 'utf8').replace('removeMember', 'removesMember'));
    expect(compile().stdout).toContain('removeMember');
  });

  it('replaces no file', async () => {
    writeFileSync(file, 'mine');
    const { status, stderr } = await runCommand('adapter', 'new', file);
    expect({ status, stderr }).toEqual({ status: 1, stderr: `gangway: ${file} exists; name another file\n` });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(existsSync(path.join(folder, 'my-tool.test.ts'))).toBe(false);
  });

  it.each(['tool.js', '.ts', 'folder/'])('refuses %s, which is no TypeScript file', async (name) => {
    const { status, stderr } = await runCommand('adapter', 'new', name);
    expect({ status, stderr }).toEqual({ status: 64, stderr: expect.stringContaining('<file> must end with .ts') });
  });
});
