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

/**
 * This folder turns a file and the environment into one validated `Config`. Only this folder reads
 * `process.env`. It reports all faults at once and never quotes a secret.
 */

export interface LoadedConfig extends SecretKeys {
  config: Config;
  source: Exclude<ConfigurationSource, { kind: 'none' }>;
  /** The folder of relative paths: the folder of the file, else the working directory. */
  folder: string;
  /** One log line each. */
  warnings: string[];
}

/**
 * Loads the configuration that `findConfiguration` finds. With a file, variables override only its
 * `database`, `receiver`, `console` and `log`. Throws `invalid` with one line for each fault: its path,
 * and what to do.
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

type Checked = { config: Config; faults: [] } | { config: undefined; faults: ConfigFault[] };

/** Applies the schema. The faults are written for people and never quote a value. */
function checkSchema(document: unknown): Checked {
  // It is applied once, so compiling it does not pay.
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

/** The message also helps an operator who has a configuration, but is in another folder. */
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

/** An unreadable reference is reported already, so the missing text is no second fault. */
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

/** If a variable decides about a path, its name follows the path. */
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

/** A copy in which the name of the mail template's file is replaced by its text. */
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

/** Makes the paths in a configuration absolute. Relative paths are relative to `folder`. */
function anchorPaths(config: Config, folder: string): Config {
  const tools = [...config.tools].map(([name, tool]) => [name, anchorTool(tool, folder)] as const);
  const url = anchorDatabase(config.database.url, folder);
  return { ...config, database: { url }, tools: new Map(tools) };
}

function anchorDatabase(url: string, folder: string): string {
  const file = /^sqlite:(?!:memory:$)(.+)$/.exec(url)?.[1];
  return file === undefined ? url : `sqlite:${path.resolve(folder, file)}`;
}

/** An adapter in a file is named by its path. Every other name is resolved as a package. */
function anchorTool(tool: ToolConfig, folder: string): ToolConfig {
  const { adapter, settings } = tool;
  return {
    ...tool,
    adapter: /^\.{1,2}\//.test(adapter) ? path.resolve(folder, adapter) : adapter,
    settings: settings.path === undefined ? settings : { ...settings, path: path.resolve(folder, settings.path) },
  };
}
