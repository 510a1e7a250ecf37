import { Command, CommanderError } from 'commander';
import { toAppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import { version } from '../lib/version.ts';
import { nouns } from '../operations/nouns.ts';
import { endAtMarketplaceCommand } from './commands/marketplace.ts';
import { sandboxCommand } from './commands/sandbox.ts';
import {
  adapterCommand,
  autoCommand,
  backupCommand,
  connectCommand,
  doctorCommand,
  initCommand,
  keyCommand,
  mcpCommand,
  migrateCommand,
  startCommand,
  tryCommand,
} from './commands/setup.ts';
import { importCommand, templateCommand } from './commands/usage.ts';
import { type CreateCommand, Ending } from './define-command.ts';
import type { Terminal } from './terminal.ts';

/**
 * The command line. stdout is data, stderr is for people and logs; every command ends with a status
 * that a script can rely on: 0 done, 1 failed, 64 used wrongly, and what its help says.
 */
const usageError = 64;

/** The order is that of the help. */
const commands = [
  initCommand,
  connectCommand,
  startCommand,
  tryCommand,
  doctorCommand,
  keyCommand,
  mcpCommand,
  backupCommand,
  migrateCommand,
  adapterCommand,
  sandboxCommand,
];

/** Commands of a noun that are no operations, as they work on this machine. */
const beside: Readonly<Record<string, readonly CreateCommand[]>> = {
  contracts: [endAtMarketplaceCommand],
  usage: [importCommand, templateCommand],
};

/** @returns the exit status */
export async function runCli(argv: string[], terminal: Terminal): Promise<number> {
  try {
    await (await createProgram(terminal, argv)).parseAsync(argv, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof Ending) return error.status;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageError;
    terminal.stderr.write(`gangway: ${maskText(toAppError(error).message)}\n`);
    return 1;
  }
}

/** @param words of the command line; only the nouns among them are loaded. By default all are */
export async function createProgram(terminal: Terminal, words = Object.keys(nouns)): Promise<Command> {
  const program = new Command('gangway')
    .description('Keeps the members of an annotation tool equal to the people with an active contract.')
    .version(version, '--version', 'print the version')
    .option('--config <file>', 'the configuration, anywhere on the line (gangway.config.json)')
    .option('--remote <url>', 'ask a running instance by its API, with the token in GANGWAY_API_TOKEN')
    .option('--env-file <file>', 'variables for it, in lines NAME=value; a variable that is already set wins');
  for (const create of commands) program.addCommand(create(terminal));
  for (const [name, noun] of Object.entries(nouns)) {
    if (words.includes(name)) {
      const { createNounCommand } = await import('./operation-commands.ts');
      program.addCommand(await createNounCommand(name, noun, terminal, beside[name]));
    } else program.command(name).description(noun.about);
  }
  program.addCommand(autoCommand(terminal), { hidden: true });
  for (const command of withSubcommands(program)) {
    command
      .configureOutput({
        writeOut: (text) => terminal.stdout.write(text),
        writeErr: (text) => terminal.stderr.write(text),
      })
      .exitOverride()
      .showHelpAfterError('(--help shows what there is)');
  }
  return program;
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}
