import { AppError } from '../domain/errors.ts';
import { sayFault } from '../lib/say-fault.ts';
import type { Adapter } from './adapter.ts';
import { builtInAdapters } from './built-in-adapters.ts';
import { createCvatAdapter } from './cvat/cvat-adapter.ts';
import { CvatSettings } from './cvat/cvat-schema.ts';
import { createDoccanoAdapter } from './doccano/doccano-adapter.ts';
import { DoccanoSettings } from './doccano/doccano-schema.ts';
import { createHttpAdapter } from './http/http-adapter.ts';
import { HttpSettings } from './http/http-schema.ts';
import { createLabelStudioAdapter } from './label-studio/label-studio-adapter.ts';
import { LabelStudioSettings } from './label-studio/label-studio-schema.ts';
import { createRosterAdapter } from './roster/roster-adapter.ts';
import { RosterSettings } from './roster/roster-schema.ts';
import { createScimAdapter } from './scim/scim-adapter.ts';
import { ScimSettings } from './scim/scim-schema.ts';

const inOurWords = { error: sayFault };

const builtIn = new Map<string, (settings: unknown) => Adapter>([
  ['cvat', (settings) => createCvatAdapter(CvatSettings.parse(settings, inOurWords))],
  ['doccano', (settings) => createDoccanoAdapter(DoccanoSettings.parse(settings, inOurWords))],
  ['http', (settings) => createHttpAdapter(HttpSettings.parse(settings, inOurWords))],
  ['label-studio', (settings) => createLabelStudioAdapter(LabelStudioSettings.parse(settings, inOurWords))],
  ['roster', (settings) => createRosterAdapter(RosterSettings.parse(settings, inOurWords))],
  ['scim', (settings) => createScimAdapter(ScimSettings.parse(settings, inOurWords))],
]);

/**
 * The adapter of a configured tool.
 *
 * @throws AppError `invalid` for an unknown adapter, or for settings that it cannot use
 */
export function createAdapter(tool: string, kind: string, settings: unknown): Adapter {
  const create = builtIn.get(kind);
  if (create === undefined) {
    const known = builtInAdapters.join(', ');
    throw new AppError('invalid', `tools.${tool}.adapter: there is no "${kind}"; there is: ${known}`);
  }
  try {
    return create(settings);
  } catch (error) {
    throw new AppError('invalid', toReasons(`tools.${tool}`, error), { cause: error });
  }
}

/** Schemas check the settings. Their errors list what is wrong, with its path. */
function toReasons(key: string, error: unknown): string {
  const { issues } = error as { issues?: { message: string; path: PropertyKey[] }[] };
  if (issues === undefined) return `${key}: ${String(error)}`;
  return issues.map(({ path, message }) => `${[key, ...path].join('.')}: ${message}`).join('; ');
}
