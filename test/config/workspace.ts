import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type LoadedConfig, loadConfig } from '../../src/config/load-config.ts';

/** A temporary folder that is gone after the test, with the files given as text or as JSON. */
export function createWorkspace(files: Record<string, unknown> = {}): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'gangway-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}

/** Loads a configuration that is written as the usual file, with other files beside it. */
export function loadWritten(
  file: unknown,
  env: Record<string, string>,
  files: Record<string, string> = {},
): LoadedConfig {
  return loadConfig({ cwd: createWorkspace({ 'gangway.config.json': file, ...files }), env });
}

/** One line for each fault. */
export function faultsOf(load: () => LoadedConfig): string[] {
  try {
    load();
  } catch (error) {
    expect(error).toMatchObject({ name: 'AppError', code: 'invalid' });
    const [, ...lines] = String(error).split('\n');
    return lines.map((line) => line.trim());
  }
  return [];
}
