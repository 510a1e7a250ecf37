import path from 'node:path';
import { AppError } from '../domain/errors.ts';
import { anchorPaths } from './anchor-paths.ts';
import type { ToolConfig } from './config-schema.ts';
import { type Environment, formatPath } from './document.ts';
import { readDocument } from './read-document.ts';
import { resolveReferences } from './references.ts';
import { checkSchema } from './schema-faults.ts';

/**
 * A tool that no configuration has, to try an adapter in a file: what would stand in
 * `tools.<name>` is the whole of a JSON file of its own.
 *
 * @throws AppError `invalid` with all that is wrong with it
 */
export function loadToolFile(
  adapterFile: string,
  settingsFile: string | undefined,
  env: Environment = process.env,
): ToolConfig {
  const folder = settingsFile === undefined ? process.cwd() : path.dirname(settingsFile);
  const written = settingsFile === undefined ? {} : readDocument(settingsFile);
  const tool = { ...written, adapter: path.resolve(adapterFile) };
  const { document, faults } = resolveReferences({ tools: { tool } }, env, folder);
  const checked = checkSchema(document);
  const found = checked.config && anchorPaths(checked.config, folder).tools.get('tool');
  if (found !== undefined && faults.length === 0) return found;
  const lines = [...faults, ...checked.faults].map(
    (fault) => `\n  ${formatPath(fault.path.slice(2))}: ${fault.message}`,
  );
  throw new AppError('invalid', `the settings of the tool cannot be used:${lines.join('')}`);
}
