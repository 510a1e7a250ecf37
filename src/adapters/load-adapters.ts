import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config, ToolConfig } from '../config/config-schema.ts';
import { AppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import { sayFault } from '../lib/say-fault.ts';
import type { Adapter } from './adapter.ts';
import { adapterFaults, guardAdapter, toGuarded } from './adapter-schema.ts';
import { builtInAdapters } from './built-in-adapters.ts';
import { createKit } from './create-kit.ts';
import { createCvatAdapter } from './cvat/cvat-adapter.ts';
import { CvatSettings } from './cvat/cvat-schema.ts';
import { createDoccanoAdapter } from './doccano/doccano-adapter.ts';
import { DoccanoSettings } from './doccano/doccano-schema.ts';
import { createHttpAdapter } from './http/http-adapter.ts';
import { HttpSettings } from './http/http-schema.ts';
import type { AdapterKit } from './kit.ts';
import { createLabelStudioAdapter } from './label-studio/label-studio-adapter.ts';
import { LabelStudioSettings } from './label-studio/label-studio-schema.ts';
import { createRosterAdapter } from './roster/roster-adapter.ts';
import { RosterSettings } from './roster/roster-schema.ts';
import { createScimAdapter } from './scim/scim-adapter.ts';
import { ScimSettings } from './scim/scim-schema.ts';

/**
 * The adapter of every configured tool, by the tool's name. One that is not built in is a file, or a package that is
 * installed beside Gangway.
 *
 * @throws AppError `invalid` for the first adapter that cannot be used, with what to do about it
 */
export async function loadAdapters({ tools }: Pick<Config, 'tools'>): Promise<Map<string, Adapter>> {
  const adapters = new Map<string, Adapter>();
  for (const [name, tool] of tools) adapters.set(name, await loadAdapter(name, tool));
  return adapters;
}

export async function loadAdapter(
  name: string,
  { adapter: kind, settings }: Pick<ToolConfig, 'adapter' | 'settings'>,
): Promise<Adapter> {
  const specifier = builtInAdapters.includes(kind) ? undefined : toSpecifier(kind);
  if (specifier === undefined) return createAdapter(name, kind, settings);
  const create = await importCreate(name, kind, specifier);
  const kit = createKit(name, settings);
  const made = await make(name, create, kit);
  const faults = adapterFaults(made);
  if (faults.length > 0) throw unusable(name, `${kind} is not an adapter: ${faults.join('; ')}`);
  return guardAdapter(made as Adapter);
}

/** What `import` needs for a file or a package. Undefined for anything else, such as URLs and Node's own modules. */
function toSpecifier(kind: string): string | undefined {
  if (path.isAbsolute(kind)) return pathToFileURL(kind).href;
  return /^(@[a-z\d~-][\w.~-]*\/)?[a-z\d~-][\w.~-]*$/.test(kind) ? kind : undefined;
}

async function importCreate(name: string, kind: string, specifier: string): Promise<unknown> {
  let module: { default?: unknown };
  try {
    module = (await import(specifier)) as typeof module;
  } catch (error) {
    throw unusable(name, toLoadFault(kind, error));
  }
  if (typeof module.default === 'function') return module.default;
  throw unusable(name, `${kind} has no default export that is a function: export default (kit) => …`);
}

/** Quotes Node, because the code has not seen any settings yet. */
function toLoadFault(kind: string, error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  const said = maskText(String(message)).slice(0, 300);
  if (code !== 'ERR_MODULE_NOT_FOUND') return `${kind} cannot be loaded: ${said}`;
  if (path.isAbsolute(kind)) return `${kind}, or something that it imports, does not exist: ${said}`;
  const known = builtInAdapters.join(', ');
  return `there is no "${kind}", neither built in (${known}) nor installed as a package: ${said}`;
}

async function make(name: string, create: unknown, kit: AdapterKit): Promise<unknown> {
  try {
    return await (create as (kit: AdapterKit) => unknown)(kit);
  } catch (error) {
    throw unusable(name, toGuarded(error, 'default export').message);
  }
}

function unusable(name: string, why: string): AppError {
  return new AppError('invalid', `tools.${name}.adapter: ${why}`);
}

const ownMessages = { error: sayFault };

const builtIn = new Map<string, (settings: unknown) => Adapter>([
  ['cvat', (settings) => createCvatAdapter(CvatSettings.parse(settings, ownMessages))],
  ['doccano', (settings) => createDoccanoAdapter(DoccanoSettings.parse(settings, ownMessages))],
  ['http', (settings) => createHttpAdapter(HttpSettings.parse(settings, ownMessages))],
  ['label-studio', (settings) => createLabelStudioAdapter(LabelStudioSettings.parse(settings, ownMessages))],
  ['roster', (settings) => createRosterAdapter(RosterSettings.parse(settings, ownMessages))],
  ['scim', (settings) => createScimAdapter(ScimSettings.parse(settings, ownMessages))],
]);

/** @throws AppError `invalid` for an adapter that is not built in, or for settings that it cannot use */
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

/** Lists all faults that the schema found, with their paths. */
function toReasons(key: string, error: unknown): string {
  const { issues } = error as { issues?: { message: string; path: PropertyKey[] }[] };
  if (issues === undefined) return `${key}: ${String(error)}`;
  return issues.map(({ path, message }) => `${[key, ...path].join('.')}: ${message}`).join('; ');
}
