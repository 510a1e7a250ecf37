import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import path from 'node:path';
import { builtInAdapters } from '../adapters/built-in-adapters.ts';
import { configFileName } from '../config/find-configuration.ts';
import {
  consoleTokenFile,
  type InitialConfig,
  initialConfig,
  type Offboarding,
  offboardingsOf,
} from '../config/initial-config.ts';
import { configJsonSchema } from '../config/json-schema.ts';
import { AppError } from '../domain/errors.ts';
import { choose } from './ask.ts';
import type { initOptions } from './commands/inputs.ts';
import type { Printed } from './define-command.ts';
import type { GivenOf } from './options.ts';
import type { Session } from './session.ts';

type InitOptions = GivenOf<typeof initOptions>;

/** `gangway init`: writes a configuration to start from, a token for the console, and the schema for editors. */
export async function runInit(options: InitOptions, session: Session): Promise<Printed> {
  const { install, publicUrl, marketplaceUrl, tool: adapter } = options;
  const config = path.resolve(options.config);
  const folder = path.dirname(config);
  const [schema, consoleToken] = [path.join(folder, 'gangway.schema.json'), path.join(folder, consoleTokenFile)];
  refuseToOverwrite(config, options);
  const isThere = isAdapterThere(adapter, folder);
  const isEmployer = await chooseEmployer(options, session);
  const removal = await chooseOffboarding(options, session);
  const offboarding = removal?.offboarding;
  const initial = initialConfig({ adapter, offboarding, install, publicUrl, marketplaceUrl, isEmployer });
  writeFile(schema, toJson(configJsonSchema()), 0o644);
  // People go on signing in with an existing token.
  if (!existsSync(consoleToken)) writeFile(consoleToken, `${randomBytes(32).toString('base64url')}\n`, 0o600);
  writeFile(config, toJson(initial.document), 0o600);
  const variables = initial.variables.map(({ name }) => name);
  return {
    data: { config, schema, consoleToken, variables, offboarding: offboarding?.name ?? null },
    text: () => nextSteps(config, options, initial, { removal, isThere, isEmployer }),
  };
}

/** Whether the adapter can be used. A file may be written later. */
function isAdapterThere(adapter: string, folder: string): boolean {
  if (builtInAdapters.includes(adapter)) return true;
  if (/^\.{0,2}\//.test(adapter)) return existsSync(path.resolve(folder, adapter));
  if (isPackage(adapter)) return true;
  const known = builtInAdapters.join(', ');
  const says = `there is no adapter "${adapter}"; there is: ${known}; a file begins with "./"`;
  throw new AppError('not_found', `${says}, and a package has to be installed first`);
}

function isPackage(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined;
  } catch {
    return false;
  }
}

interface Choices {
  removal: Removal | undefined;
  isThere: boolean;
  isEmployer: boolean | undefined;
}

interface Removal {
  offboarding: Offboarding;
  /** Whether the operator has chosen it. */
  isChosen: boolean;
}

/** @returns undefined if nobody answers */
async function chooseEmployer({ employer, install }: InitOptions, { terminal }: Session): Promise<boolean | undefined> {
  if (employer || install !== undefined) return employer;
  const picked = await choose(terminal, 'Who hires the trainers?', [
    'your customers: each connects your platform at the marketplace, and gives you a platform token',
    'you: with your own account at the marketplace, and a personal token',
  ]);
  return picked === undefined ? undefined : picked === 1;
}

/** By default, a removal locks people out. */
async function chooseOffboarding(
  { tool, offboarding: named }: InitOptions,
  { terminal, misuse }: Session,
): Promise<Removal | undefined> {
  const choices = offboardingsOf(tool);
  if (named !== undefined) {
    const offboarding = choices.find(({ name }) => name === named);
    if (offboarding !== undefined) return { offboarding, isChosen: true };
    const known = choices.map(({ name }) => name).join(', ') || 'no choice';
    return misuse(`--offboarding ${named}: for ${tool} there is: ${known}`);
  }
  const lines = choices.map(({ name, means }) => `${name}: ${means}`);
  const picked = lines.length === 0 ? undefined : await choose(terminal, `What shall a removal do in ${tool}?`, lines);
  const offboarding = choices[picked ?? 0];
  return offboarding && { offboarding, isChosen: picked !== undefined };
}

function refuseToOverwrite(config: string, { force }: InitOptions): void {
  if (force || !existsSync(config)) return;
  throw new AppError('conflict', `${config} is already there; --force replaces it`);
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Writes a draft and renames it, so that nobody reads half a file, and an older file does not keep its mode. */
function writeFile(file: string, text: string, mode: number): void {
  const draft = `${file}.${process.pid}.tmp`;
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(draft, text, { mode, flag: 'wx' });
    renameSync(draft, file);
  } catch (error) {
    throw new AppError('invalid', `${file} cannot be written`, { cause: error });
  }
}

function nextSteps(
  config: string,
  { install, publicUrl, tool }: InitOptions,
  { variables }: InitialConfig,
  { removal, isThere, isEmployer }: Choices,
): string {
  const named = path.basename(config) === configFileName ? '' : ` --config ${config}`;
  const reached = 'receiver.publicUrl in it to the address where the marketplace reaches this machine';
  return [
    `Wrote ${config}, gangway.schema.json, and ${consoleTokenFile}: the token of "admin" for the console.`,
    ...(publicUrl === undefined ? [`Set ${reached}; without it, Gangway asks every minute.`] : []),
    ...(isThere ? [] : [`Write the adapter ${tool}: docs/adapters.md says how.`]),
    ...(builtInAdapters.includes(tool) && tool !== 'roster' ? [sayExamples(tool)] : []),
    ...(removal === undefined ? [] : [sayRemoval(removal, tool)]),
    ...variables.map(({ name, meaning }) => `Set the variable ${name}: ${meaning}.`),
    ...(install === undefined ? connectSteps(isEmployer, named) : []),
    `Then run: gangway start${named}`,
  ].join('\n');
}

function connectSteps(isEmployer: boolean | undefined, named: string): string[] {
  const customer = `Connect a customer, whose token it asks for: gangway connect <a name for them>${named}`;
  const own = `your own account: gangway connect own --employer --job <job>=<project>${named}`;
  if (isEmployer === undefined) return [customer, `Or, if you hire people yourself, ${own}`];
  return [isEmployer ? `Connect ${own}` : customer];
}

function sayExamples(tool: string): string {
  const readme = `src/adapters/${tool}/README.md`;
  const more = { cvat: ' and organization', http: ', member and requests' }[tool];
  return more === undefined
    ? `Set tools.${tool}.url to your server's address; ${readme} has all settings.`
    : `Set url${more} of tools.${tool} to your server's; ${readme} has all settings.`;
}

function sayRemoval({ offboarding: { name, means }, isChosen }: Removal, tool: string): string {
  const says = `A removal in ${tool} ${means} (offboarding: ${name}).`;
  if (isChosen) return says;
  const others = offboardingsOf(tool).filter((one) => one.name !== name);
  const other = others.map((one) => `--offboarding ${one.name} ${one.means}`).join('; ');
  return `${says} That is the default; ${other}.`;
}
