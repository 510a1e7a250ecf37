import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import path from 'node:path';
import { builtInAdapters } from '../adapters/built-in-adapters.ts';
import { configFileName } from '../config/find-configuration.ts';
import { type InitialConfig, initialConfig, type Offboarding, offboardingsOf } from '../config/initial-config.ts';
import { configJsonSchema } from '../config/json-schema.ts';
import { AppError } from '../domain/errors.ts';
import { choose } from './ask.ts';
import type { Printed } from './define-command.ts';
import type { Session } from './session.ts';

interface InitOptions {
  config: string;
  install: string | undefined;
  publicUrl: string | undefined;
  marketplaceUrl: string | undefined;
  tool: string;
  offboarding: string | undefined;
  force: boolean;
}

/** `gangway init`: writes a configuration to start from, and the schema that editors check it by. */
export async function runInit(options: InitOptions, session: Session): Promise<Printed> {
  const { install, publicUrl, marketplaceUrl, tool: adapter } = options;
  const config = path.resolve(options.config);
  const schema = path.join(path.dirname(config), 'gangway.schema.json');
  refuseToOverwrite(config, options);
  const isThere = isAdapterThere(adapter, path.dirname(config));
  const removal = await chooseOffboarding(options, session);
  const offboarding = removal?.offboarding;
  const initial = initialConfig({ adapter, offboarding, install, publicUrl, marketplaceUrl });
  writeJson(schema, configJsonSchema(), 0o644);
  writeJson(config, initial.document, 0o600);
  const variables = initial.variables.map(({ name }) => name);
  return {
    data: { config, schema, variables, offboarding: offboarding?.name ?? null },
    text: () => nextSteps(config, options, initial, { removal, isThere }),
  };
}

/** Whether it can be used as it is; a file may be written later. */
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

interface Removal {
  offboarding: Offboarding;
  /** Whether the operator has chosen it. */
  isChosen: boolean;
}

/** A removal that cannot be undone is never the default: the operator has to choose it. */
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

/** Writes a draft and renames it: no reader sees half a file, or the mode of an older one. */
function writeJson(file: string, value: unknown, mode: number): void {
  const draft = `${file}.${process.pid}.tmp`;
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode, flag: 'wx' });
    renameSync(draft, file);
  } catch (error) {
    throw new AppError('invalid', `${file} cannot be written`, { cause: error });
  }
}

function nextSteps(
  config: string,
  { install, publicUrl, tool }: InitOptions,
  { variables }: InitialConfig,
  { removal, isThere }: { removal: Removal | undefined; isThere: boolean },
): string {
  const named = path.basename(config) === configFileName ? '' : ` --config ${config}`;
  const reached = 'receiver.publicUrl in it to the address where the marketplace reaches this machine';
  return [
    `Wrote ${config}, readable by you alone, and gangway.schema.json beside it.`,
    ...(publicUrl === undefined ? [`Set ${reached}; without it, Gangway asks every minute.`] : []),
    ...(isThere ? [] : [`Write the adapter ${tool}: src/adapters/README.md says how.`]),
    ...(builtInAdapters.includes(tool) && tool !== 'roster' ? [sayExamples(tool)] : []),
    ...(removal === undefined ? [] : [sayRemoval(removal, tool)]),
    ...variables.map(({ name, meaning }) => `Set the variable ${name}: ${meaning}.`),
    ...(install === undefined
      ? [
          `Connect a customer, whose token it asks for: gangway connect <a name for them>${named}`,
          `Or your own account, if you hire people yourself: gangway connect own --employer --job <job>=<project>${named}`,
        ]
      : []),
    `Then run: gangway start${named}`,
  ].join('\n');
}

function sayExamples(tool: string): string {
  const what = { cvat: 'url and organization', http: 'url, member and requests' }[tool] ?? 'url';
  return `Set ${what} of tools.${tool} to what is true of yours: src/adapters/${tool}/README.md.`;
}

function sayRemoval({ offboarding: { name, means }, isChosen }: Removal, tool: string): string {
  const says = `A removal in ${tool} ${means} (offboarding: ${name}).`;
  if (isChosen) return says;
  const [, ...others] = offboardingsOf(tool);
  const other = others.map((one) => `${one.name} ${one.means}`).join('; ');
  return `${says} The operator was not asked; --offboarding chooses: ${other}.`;
}
