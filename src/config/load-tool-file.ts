import path from 'node:path';
import { AppError } from '../domain/errors.ts';
import { anchorPaths } from './anchor-paths.ts';
import type { ToolConfig } from './config-schema.ts';
import { type Environment, formatPath } from './document.ts';
import { readDocument } from './read-document.ts';
import { resolveReferences } from './references.ts';
import { checkSchema } from './schema-faults.ts';

/**
 * Loads a tool from a JSON file of its own, to try an adapter without a configuration. The file contains
 * what `tools.<name>` would contain.
 *
 * @throws AppError `invalid` with all faults
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
