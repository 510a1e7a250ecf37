import { Buffer } from 'node:buffer';
import { statSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { AppError, toAppError } from '../domain/errors.ts';
import { stripBom, suggestNearest } from '../lib/text.ts';
import { type ConfigFault, type Document, type Environment, formatPath, type Path, withValueAt } from './document.ts';
import { findConfiguration } from './find-configuration.ts';
import { describeAt } from './json-schema.ts';
import { readSmallFile } from './read-file.ts';
import { referencedVariables } from './references.ts';

export interface Layered {
  document: Document;
  /** The variable that decides about a path, for faults. */
  origins: { path: Path; variable: string }[];
  faults: ConfigFault[];
  warnings: string[];
}

/**
 * Puts the variables into a configuration. With a file, they override the sections of the server (`database`, `receiver`,
 * `console`, `log`), and the file decides everything else. Without a file (`undefined`), they configure one install, whose
 * tool is called "default".
 */
export function layerVariables(file: Document | undefined, env: Environment, folder: string): Layered {
  const layered: Layered = { ...startFrom(file, env), faults: [], warnings: [] };
  layered.faults.push(...unknownVariables(env, file));
  for (const variable of variables) {
    const path = concretePath(variable, env);
    try {
      const value = readVariable(variable.name, env, folder);
      if (file === undefined || (overridesFile(variable) && value !== undefined)) {
        layered.origins.push({ path, variable: variable.name });
        layered.document = putText(layered.document, path, value);
      } else if (value !== undefined && !referencedVariables(file).includes(variable.name)) {
        layered.warnings.push(`${variable.name} is ignored: ${formatPath(path)} is decided by the file`);
      }
    } catch (error) {
      layered.faults.push({ path: [variable.name], message: toAppError(error).message });
    }
  }
  return layered;
}

/**
 * Whether the variables configure an install, a tool or the marketplace. Variables that also override a file are not enough
 * without one, except in the image.
 */
export function isSetUp(env: Environment): boolean {
  const isProduction = env['NODE_ENV'] === 'production';
  const meant = variables.filter((one) => isProduction || !overridesFile(one));
  const others = isProduction ? ['GANGWAY_INSTALL', 'GANGWAY_CONNECT_TOKEN'] : ['GANGWAY_INSTALL'];
  return [...meant.map(({ name }) => name), ...others].some((name) => isGiven(name, env));
}

/** The options of the command line that say where variables are. */
export interface EnvironmentLine {
  config?: string | undefined;
  envFile?: string | undefined;
}

/**
 * The variables of a process, and those of an environment file for what the process does not set: the named file, else the
 * `.env` beside the configuration file. Another program, such as Node, may have read a file with its byte order mark, which is
 * then in a name or a value.
 */
export function readEnvironment(
  { config, envFile }: EnvironmentLine,
  env: Environment = process.env,
  cwd = process.cwd(),
): Environment {
  const own = Object.entries(env).map(([name, value]) => [stripBom(name), value && stripBom(value)] as const);
  const file = envFile ?? findEnvFile(config, env, cwd);
  return { ...(file !== undefined && readEnvFile(file, cwd)), ...Object.fromEntries(own) };
}

/** The value of a variable, or of the file that `<name>_FILE` names. @throws AppError `invalid` */
export function readVariable(name: string, env: Environment, folder: string): string | undefined {
  const value = isServiceLink(name, env[name]) ? undefined : env[name] || undefined;
  const file = env[`${name}_FILE`];
  if (!file) return value;
  if (value === undefined) return readSmallFile(file, folder);
  throw new AppError('invalid', `is set, and ${name}_FILE too; keep one of them`);
}

function startFrom(file: Document | undefined, env: Environment) {
  if (file !== undefined) return { document: file, origins: [] };
  const adapter = env['GANGWAY_TOOL_ADAPTER'] || 'roster';
  const tool = adapter === 'roster' ? { adapter, path: './data/roster.json' } : { adapter };
  const tools = { default: tool };
  // Customers are then connected by command.
  if (!namesInstall(env)) return { document: { tools }, origins: [] };
  const name = installName(env);
  const document = { installs: { [name]: { tool: 'default' } }, tools };
  return { document, origins: [{ path: ['installs', name], variable: 'GANGWAY_INSTALL' }] };
}

function namesInstall(env: Environment): boolean {
  const names = variables.filter(({ path }) => path[0] === 'installs').map(({ name }) => name);
  return [...names, 'GANGWAY_INSTALL'].some((name) => isGiven(name, env));
}

function isGiven(name: string, env: Environment): boolean {
  return Boolean(env[name] || env[`${name}_FILE`]) && !isServiceLink(name, env[name]);
}

function installName(env: Environment): string {
  return env['GANGWAY_INSTALL'] || 'default';
}

function concretePath({ path: [section = '', ...keys] }: Variable, env: Environment): string[] {
  const name = section === 'installs' ? installName(env) : 'default';
  return [section, ...keys.map((key) => (key === '*' ? name : key))];
}

/** A copy with the value of a variable at its path, in the type of the schema. A list has commas. */
function putText(document: Document, path: string[], text: string | undefined): Document {
  if (text === undefined) return document;
  const { type } = describeAt(path) ?? {};
  const number = type === 'integer' && /^\d+$/.test(text) ? Number(text) : text;
  const value = type === 'array' ? text.split(',').map((item) => item.trim()) : number;
  return withValueAt(document, path, value) as Document;
}

/** A misspelt variable must not be ignored. Variables that the file refers to are known. */
function unknownVariables(env: Environment, file: Document | undefined): ConfigFault[] {
  const names = [...variables.map(({ name }) => name), ...Object.keys(otherVariables)];
  const withFiles = names.filter((name) => name !== 'GANGWAY_CONFIG' && name !== 'GANGWAY_INSTALL');
  const known = new Set([...names, ...withFiles.map((name) => `${name}_FILE`)]);
  const used = new Set([...known, ...referencedVariables(file)]);
  return Object.keys(env)
    .filter((name) => name.startsWith('GANGWAY_') && !used.has(name))
    .filter((name) => !isServiceLink(name, env[name]))
    .map((name) => ({ path: [name], message: `unknown variable${suggestNearest(name, known)}` }));
}

/** Kubernetes sets such variables in every pod if a Service is named `gangway` or `gangway-…`. */
function isServiceLink(name: string, value: string | undefined): boolean {
  if (/_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/.test(name)) return true;
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value ?? '');
}

/** The `.env` beside the configuration file; undefined if it is missing or empty. */
function findEnvFile(config: string | undefined, env: Environment, cwd: string): string | undefined {
  const source = findConfiguration({ path: config, env, cwd });
  if (source.kind !== 'file') return undefined;
  const file = path.join(path.dirname(source.path), '.env');
  return statSync(file, { throwIfNoEntry: false })?.size ? file : undefined;
}

/** A blank line, a comment, or a variable. A value in quotes may have several lines. */
const entry =
  /[^\S\n]*(?:(?:export[^\S\n]+)?[a-z_][\w.-]*[^\S\n]*=[^\S\n]*(?:"[^"]*"|'[^']*'|`[^`]*`|(?!["'`])[^#\n]*)[^\S\n]*)?(?:#[^\n]*)?(?:\n|$)/iy;

/**
 * The variables of an environment file. A fault names the line and quotes nothing, because it may be a secret.
 *
 * @throws AppError `invalid` for a line that sets no variable, because it would be ignored
 */
function readEnvFile(file: string, cwd: string): Environment {
  const text = readSmallFile(file, cwd);
  for (let at = 0; at < text.length; at = entry.lastIndex) {
    entry.lastIndex = at;
    if (entry.test(text)) continue;
    const line = text.slice(0, at).split('\n').length;
    throw new AppError(
      'invalid',
      `${path.resolve(cwd, file)}, line ${line}: must be NAME=value, with both quotes or none`,
    );
  }
  return parseEnv(text);
}

interface Variable {
  name: string;
  /** The path of its value, with `*` for the name of the only install or tool. */
  path: readonly string[];
}

const paths = {
  GANGWAY_TOKEN: 'installs.*.token',
  GANGWAY_WEBHOOK_SECRET: 'installs.*.webhookSecrets',
  GANGWAY_PROJECTS: 'installs.*.projects',
  GANGWAY_TOOL_ADAPTER: 'tools.*.adapter',
  GANGWAY_TOOL_PATH: 'tools.*.path',
  GANGWAY_TOOL_URL: 'tools.*.url',
  GANGWAY_TOOL_TOKEN: 'tools.*.token',
  GANGWAY_TOOL_OFFBOARDING: 'tools.*.offboarding',
  GANGWAY_MARKETPLACE_URL: 'marketplace.baseUrl',
  GANGWAY_MANAGED_DOMAINS: 'marketplace.managedDomains',
  GANGWAY_DATABASE_URL: 'database.url',
  GANGWAY_RECEIVER_HOST: 'receiver.host',
  GANGWAY_RECEIVER_PORT: 'receiver.port',
  GANGWAY_RECEIVER_DRAIN: 'receiver.drain',
  GANGWAY_PUBLIC_URL: 'receiver.publicUrl',
  GANGWAY_CONSOLE_HOST: 'console.host',
  GANGWAY_CONSOLE_PORT: 'console.port',
  GANGWAY_CONSOLE_TOKEN: 'console.token',
  GANGWAY_LOG_LEVEL: 'log.level',
  GANGWAY_LOG_FORMAT: 'log.format',
};

/** The variables with a path. Each may also be `<NAME>_FILE`, the path of a file with the value. An empty one is not set. */
export const variables: readonly Variable[] = Object.entries(paths).map(([name, path]) => ({
  name,
  path: path.split('.'),
}));

/** Variables that are not in the document. */
export const otherVariables = {
  GANGWAY_CONFIG: 'the configuration file',
  GANGWAY_INSTALL: 'the name of the one install and its tool, else "default"',
  GANGWAY_API_TOKEN: 'the token that commands with --remote send',
  GANGWAY_CONNECT_TOKEN: 'the platform token that "gangway connect" is to use',
  GANGWAY_SECRET_KEY: '32 bytes that everything secret is encrypted with',
  GANGWAY_SECRET_KEY_PREVIOUS: 'the key before it, for gangway key rotate',
};

/** Whether it overrides the file, which only settings of the server do. */
export function overridesFile({ path: [section = ''] }: Variable): boolean {
  return ['database', 'receiver', 'console', 'log'].includes(section);
}

export interface SecretKeys {
  /** The key with which everything secret is encrypted; undefined if a key file is used instead. */
  secretKey: Buffer | undefined;
  /** The key that `gangway key rotate` replaces by `secretKey`. */
  previousSecretKey: Buffer | undefined;
}

const remedy = 'make one with: openssl rand -base64 32';

/**
 * Reads `GANGWAY_SECRET_KEY` and `GANGWAY_SECRET_KEY_PREVIOUS`, each from the variable or its `_FILE`.
 *
 * @param isRequired whether several instances may share the database, so that a key file on one of them is not enough
 */
export function loadSecretKeys(
  env: Environment,
  folder: string,
  isRequired: boolean,
): SecretKeys & { faults: ConfigFault[] } {
  const faults: ConfigFault[] = [];
  const name = 'GANGWAY_SECRET_KEY';
  const secretKey = load(name);
  const previousSecretKey = load(`${name}_PREVIOUS`);
  if (secretKey === undefined && faults.length === 0 && isRequired) {
    faults.push({ path: [name], message: `is required with PostgreSQL; ${remedy}` });
  }
  return { secretKey, previousSecretKey, faults };

  function load(variable: string): Buffer | undefined {
    try {
      const text = readVariable(variable, env, folder);
      return text === undefined ? undefined : parseSecretKey(text.trim());
    } catch (error) {
      faults.push({ path: [variable], message: toAppError(error).message });
      return undefined;
    }
  }
}

/** 32 bytes as hex, base64 or base64url, with or without padding. @throws AppError `invalid` */
function parseSecretKey(text: string): Buffer {
  if (/^[\da-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  // The last of the 43 characters has four bits of the key and two that must be zero.
  if (/^[\w+/-]{42}[AEIMQUYcgkosw048]=?$/.test(text)) return Buffer.from(text, 'base64');
  throw new AppError('invalid', `must be 32 bytes as base64, base64url or hex; ${remedy}`);
}
