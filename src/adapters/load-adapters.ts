import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config, ToolConfig } from '../config/config-schema.ts';
import { AppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import type { Adapter } from './adapter.ts';
import { adapterFaults } from './adapter-schema.ts';
import { builtInAdapters } from './built-in-adapters.ts';
import { createAdapter } from './create-adapter.ts';
import { createKit } from './create-kit.ts';
import { guardAdapter, toGuarded } from './guard-adapter.ts';
import type { AdapterKit } from './kit.ts';

/**
 * The adapter of every configured tool, by the tool's name. An adapter that is not built in is a file, or a package that
 * is installed beside Gangway.
 *
 * @throws AppError `invalid` for the first adapter that cannot be used, with what to do
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

/** What `import` takes for a file or a package. Undefined for all else, such as URLs and Node's own modules. */
function toSpecifier(kind: string): string | undefined {
  if (path.isAbsolute(kind)) return pathToFileURL(kind).href;
  return /^(@[a-z\d~-][\w.~-]*\/)?[a-z\d~-][\w.~-]*$/.test(kind) ? kind : undefined;
}

async function importCreate(name: string, kind: string, specifier: string): Promise<unknown> {
  let module: { default?: unknown };
  try {
    module = (await import(specifier)) as typeof module;
  } catch (error) {
    throw unusable(name, toWhyNot(kind, error));
  }
  if (typeof module.default === 'function') return module.default;
  throw unusable(name, `${kind} has no default export that is a function: export default (kit) => …`);
}

/** Node's message can be shown, because the code has not seen any settings yet. */
function toWhyNot(kind: string, error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  const said = maskText(String(message)).slice(0, 300);
  const isMissing = code === 'ERR_MODULE_NOT_FOUND';
  if (!isMissing) return `${kind} cannot be loaded: ${said}`;
  if (path.isAbsolute(kind)) return `${kind}, or something it imports, is not there: ${said}`;
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
