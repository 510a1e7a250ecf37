import { expect } from 'vitest';
import { type LoadedConfig, loadConfig } from '../../src/config/load-config.ts';
import { createWorkspace } from './workspace.ts';

/** Loads a configuration that is written as the usual file, with other files beside it. */
export function loadWritten(
  file: unknown,
  env: Record<string, string>,
  files: Record<string, string> = {},
): LoadedConfig {
  return loadConfig({ cwd: createWorkspace({ 'gangway.config.json': file, ...files }), env });
}

/** One line for each fault; none if the configuration loads. */
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
