import path from 'node:path';
import type { z } from 'zod';
import { AppError, toAppError } from '../domain/errors.ts';
import { sayFault } from '../lib/say-fault.ts';
import { suggestNearest } from '../lib/text.ts';
import { Config, type ToolConfig } from './config-schema.ts';
import { crossFaults, warningsOf } from './cross-checks.ts';
import {
  type ConfigFault,
  type Document,
  type Environment,
  formatPath,
  isDocument,
  type Path,
  startsWith,
  withValueAt,
} from './document.ts';
import { isSetUp, type Layered, layerVariables, loadSecretKeys, type SecretKeys } from './environment.ts';
import {
  type ConfigurationQuery,
  type ConfigurationSource,
  configFileName,
  findConfiguration,
} from './find-configuration.ts';
import { describeAt, propertiesOf } from './json-schema.ts';
import { readDocument, readSmallFile } from './read-file.ts';
import { resolveReferences } from './references.ts';

export interface LoadedConfig extends SecretKeys {
  config: Config;
  source: Exclude<ConfigurationSource, { kind: 'none' }>;
  /** What relative paths are relative to: the folder of the file, else the working directory. */
  folder: string;
  /** One log line each. */
  warnings: string[];
}

/**
 * Loads the configuration that `findConfiguration` finds, and puts the variables into it (`layerVariables`).
 *
 * @throws AppError `invalid` with a line for each fault: its path and what to do, and never a secret
 */
export function loadConfig(query: ConfigurationQuery = {}): LoadedConfig {
  const { env = process.env, cwd = process.cwd(), uses } = query;
  const source = findConfiguration(query);
  if (source.kind === 'none' || (source.kind === 'environment' && !isSetUp(env))) {
    throw new AppError('invalid', sayNone(env, cwd));
  }
  const folder = source.kind === 'file' ? path.dirname(source.path) : cwd;
  const file = source.kind === 'file' ? readDocument(source.path) : undefined;
  const layered = layerVariables(file, env, folder);
  const resolved = resolveReferences(layered.document, env, folder, (at) => isUsed(at, uses));
  const template = readTemplate(resolved.document, folder);
  const checked = checkSchema(template.document);
  const keys = loadSecretKeys(env, folder, isPostgres(resolved.document));
  const unread = [...resolved.faults, ...template.faults];
  const faults = [
    ...unread,
    ...withoutFollowUps([...checked.faults, ...crossFaults(resolved.document)], unread),
    ...keys.faults,
    ...layered.faults,
  ];
  if (checked.config === undefined || faults.length > 0) {
    throw new AppError('invalid', toMessage(source, faults, layered));
  }
  const literals = resolved.literals.filter((literal) => originOf(literal, layered) === undefined);
  const { secretKey, previousSecretKey } = keys;
  return {
    config: anchorPaths(checked.config, folder),
    source,
    folder,
    warnings: [...layered.warnings, ...literals.map(toWarning), ...warningsOf(checked.config)],
    secretKey,
    previousSecretKey,
  };
}

/**
 * Loads a tool from a JSON file of its own, which has the content of `tools.<name>`, to try an adapter without a configuration.
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
  const loaded = checked.config && anchorPaths(checked.config, folder).tools.get('tool');
  if (loaded !== undefined && faults.length === 0) return loaded;
  const lines = [...faults, ...checked.faults].map(
    (fault) => `\n  ${formatPath(fault.path.slice(2))}: ${fault.message}`,
  );
  throw new AppError('invalid', `the settings of the tool cannot be used:${lines.join('')}`);
}

type Checked = { config: Config; faults: [] } | { config: undefined; faults: ConfigFault[] };

/** Applies the schema. No fault quotes a value. */
function checkSchema(document: unknown): Checked {
  // It is applied once, so compiling it would take longer.
  const parsed = Config.safeParse(document, { error: messageFor, jitless: true });
  if (parsed.success) return { config: parsed.data, faults: [] };
  return { config: undefined, faults: parsed.error.issues.flatMap(toFaults) };
}

function messageFor(issue: z.core.$ZodRawIssue): string | undefined {
  return issue.input === undefined ? 'is missing' : sayFault(issue);
}

function toFaults(issue: z.core.$ZodIssue): ConfigFault[] {
  const { path, message } = issue;
  if (issue.code === 'unrecognized_keys') {
    const known = [...propertiesOf(describeAt(path) ?? {}).keys()];
    return issue.keys.map((key) => ({ path: [...path, key], message: `unknown key${suggestNearest(key, known)}` }));
  }
  if (issue.code === 'invalid_key') {
    return issue.issues.map((inner) => ({ path, message: inner.message }));
  }
  return [{ path, message: message === 'is missing' ? `is missing. ${describeAt(path)?.description ?? ''}` : message }];
}

/** The operator may have a configuration in another folder. */
function sayNone(env: Environment, cwd: string): string {
  const names = Object.keys(env).filter((name) => name.startsWith('GANGWAY_'));
  const set =
    names.length === 0
      ? ''
      : `; ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} set, but not enough to configure an install`;
  return `there is no configuration: no ${configFileName} in ${cwd}${set}. Run this in its folder, name the file with --config or GANGWAY_CONFIG, write one with "gangway init", or set variables for the install or the tool (GANGWAY_TOKEN, GANGWAY_TOOL_ADAPTER)`;
}

/** Only `start`, which uses everything, checks signatures. */
function isUsed(secret: Path, uses: ConfigurationQuery['uses']): boolean {
  if (uses === undefined || secret[0] === 'database') return true;
  return secret[2] !== 'webhookSecrets' && uses.some((part) => startsWith(secret, part.split('.')));
}

/** An unreadable reference is one fault, and the missing value is no second one. */
function withoutFollowUps(faults: ConfigFault[], causes: ConfigFault[]): ConfigFault[] {
  return faults.filter(({ path }) => !causes.some((cause) => startsWith(path, cause.path)));
}

function isPostgres({ database }: Document): boolean {
  const url = isDocument(database) ? database['url'] : undefined;
  return typeof url === 'string' && /^postgres(ql)?:/.test(url);
}

function toMessage(source: LoadedConfig['source'], faults: ConfigFault[], layered: Layered): string {
  const subject =
    source.kind === 'file'
      ? source.path
      : `in the environment (GANGWAY_*; there is no ${configFileName} in this folder)`;
  const lines = faults.map((fault) => `\n  ${formatOrigin(fault.path, layered)}: ${fault.message}`);
  return `the configuration ${subject} cannot be used:${lines.join('')}`;
}

/** The path, and the variable that decides about it. */
function formatOrigin(path: Path, layered: Layered): string {
  const variable = originOf(path, layered);
  return variable === undefined ? formatPath(path) : `${formatPath(path)} (${variable})`;
}

function originOf(path: Path, { origins }: Layered): string | undefined {
  return origins.findLast((origin) => startsWith(path, origin.path))?.variable;
}

function toWarning(literal: Path): string {
  const remedy = '{"env": "NAME"} or {"file": "path"} keeps it out of the file';
  return `${formatPath(literal)}: the secret is written out; ${remedy}`;
}

const templatePath = ['mail', 'template'];

/** A copy with the text of the mail template, instead of the name of its file. */
function readTemplate(document: Document, folder: string): { document: Document; faults: ConfigFault[] } {
  const { mail } = document;
  const file = isDocument(mail) ? mail['template'] : undefined;
  if (typeof file !== 'string') return { document, faults: [] };
  try {
    const text = readSmallFile(file, folder);
    return { document: withValueAt(document, templatePath, text) as Document, faults: [] };
  } catch (error) {
    return { document, faults: [{ path: templatePath, message: toAppError(error).message }] };
  }
}

/** Makes the paths in a configuration absolute. */
function anchorPaths(config: Config, folder: string): Config {
  const tools = [...config.tools].map(([name, tool]) => [name, anchorTool(tool, folder)] as const);
  const url = anchorDatabase(config.database.url, folder);
  return { ...config, database: { url }, tools: new Map(tools) };
}

function anchorDatabase(url: string, folder: string): string {
  const file = /^sqlite:(?!:memory:$)(.+)$/.exec(url)?.[1];
  return file === undefined ? url : `sqlite:${path.resolve(folder, file)}`;
}

/** An adapter in a file is named by its path. Any other name is that of a package. */
function anchorTool(tool: ToolConfig, folder: string): ToolConfig {
  const { adapter, settings } = tool;
  return {
    ...tool,
    adapter: /^\.{1,2}\//.test(adapter) ? path.resolve(folder, adapter) : adapter,
    settings: settings.path === undefined ? settings : { ...settings, path: path.resolve(folder, settings.path) },
  };
}
