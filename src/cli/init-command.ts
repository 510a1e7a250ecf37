import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { configFileName } from '../config/find-configuration.ts';
import { type InitialConfig, initialConfig } from '../config/initial-config.ts';
import { configJsonSchema } from '../config/json-schema.ts';
import { AppError } from '../domain/errors.ts';
import type { Terminal } from './terminal.ts';

interface InitOptions {
  config: string;
  install?: string;
  publicUrl?: string;
  marketplaceUrl?: string;
  tool: string;
  force?: true;
  json?: true;
}

/** `gangway init`: writes a configuration to start from, and the schema that editors check it by. */
export function createInitCommand(terminal: Terminal): Command {
  return new Command('init')
    .description('write a configuration to start from')
    .option('--config <file>', 'the file to write', configFileName)
    .option(
      '--install <name>',
      'write an install of this name into it, rather than to connect it by command',
    )
    .option('--public-url <url>', 'where the marketplace reaches this machine')
    .option('--marketplace-url <url>', "the root of the marketplace's API, such as a sandbox's")
    .option('--tool <adapter>', 'roster, label-studio, cvat, doccano, scim, http', 'roster')
    .option('--force', 'replace a configuration that is already there')
    .option('--json', 'say what was written as JSON')
    .action((_options: object, command: Command) => {
      // The program has a --config too, and takes the option wherever it stands.
      const options = command.optsWithGlobals<InitOptions>();
      const { install, publicUrl, marketplaceUrl, tool: adapter } = options;
      const initial = initialConfig({ adapter, install, publicUrl, marketplaceUrl });
      const config = path.resolve(options.config);
      const schema = path.join(path.dirname(config), 'gangway.schema.json');
      refuseToOverwrite(config, options);
      writeJson(schema, configJsonSchema(), 0o644);
      writeJson(config, initial.document, 0o600);
      const { variables } = initial;
      const report = options.json
        ? JSON.stringify({ config, schema, variables: variables.map(({ name }) => name) })
        : nextSteps(config, options, initial);
      terminal.stdout.write(`${report}\n`);
    });
}

function refuseToOverwrite(config: string, { force }: InitOptions): void {
  if (force || !existsSync(config)) return;
  throw new AppError('conflict', `${config} is already there; --force replaces it`);
}

/** Written beside and moved, so that nobody ever reads half a file or one with an old file's mode. */
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
  { install, publicUrl }: InitOptions,
  { variables }: InitialConfig,
): string {
  const named = path.basename(config) === configFileName ? '' : ` --config ${config}`;
  const reached =
    'receiver.publicUrl in it to the address where the marketplace reaches this machine';
  return [
    `Wrote ${config}, readable by you alone, and gangway.schema.json beside it.`,
    ...(publicUrl === undefined ? [`Set ${reached}; without it, Gangway asks every minute.`] : []),
    ...variables.map(({ name, meaning }) => `Set the variable ${name}: ${meaning}.`),
    ...(install === undefined
      ? [`Connect a customer, whose token it asks for: gangway connect <a name for them>${named}`]
      : []),
    `Then run: gangway start${named}`,
  ].join('\n');
}
