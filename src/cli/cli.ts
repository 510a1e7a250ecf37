import { Command, CommanderError } from 'commander';
import { AppError, toAppError } from '../domain/errors.ts';
import { suggestNearest } from '../lib/text.ts';
import { commit, schema, version } from '../lib/version.ts';
import { nouns } from '../operations/nouns.ts';
import {
  adapterCommand,
  autoCommand,
  backupCommand,
  connectCommand,
  doctorCommand,
  importCommand,
  initCommand,
  keyCommand,
  mcpCommand,
  migrateCommand,
  openCommand,
  restoreCommand,
  startCommand,
  templateCommand,
  tryCommand,
} from './commands/beside-operations.ts';
import { sandboxCommand } from './commands/sandbox.ts';
import { type CreateCommand, defineCommand, Ending } from './define-command.ts';
import { oneOf } from './options.ts';
import { printError, type Terminal } from './session.ts';

/** The status of a command that was used wrongly. Others are 0 (done), 1 (failed), and what the help of a command says. */
const usageError = 64;

const versionText = `gangway ${version} (${commit === null ? '' : `commit ${commit}, `}schema ${schema})`;

const versionCommand = defineCommand({
  name: 'version',
  description: 'Print version, commit and schema',
  run: async () => () => ({ data: { version, commit, schema }, text: () => versionText }),
  local: 'gangway status --remote has the versions of instances',
});

const completionCommand = defineCommand({
  name: 'completion',
  description: 'Print what makes a shell complete the commands and options',
  arguments: { shell: oneOf('<shell>', 'The shell', ['bash', 'zsh', 'fish']) },
  notes: `bash, in ~/.bashrc:                    source <(gangway completion bash)
zsh, in ~/.zshrc, after compinit:      source <(gangway completion zsh)
fish, in ~/.config/fish/config.fish:   gangway completion fish | source`,
  run: async () => {
    const { runCompletion } = await import('./completion-command.ts');
    return async (given, { terminal }) => runCompletion(given, await createProgram(terminal));
  },
  local: 'it asks nobody',
});

/** All commands, in the order of the help. A text is a noun of operations. */
const groups: Readonly<Record<string, readonly (CreateCommand | string)[]>> = {
  'Start here': [initCommand, connectCommand, startCommand, tryCommand, 'status', openCommand, doctorCommand],
  People: ['members', 'access', 'explain', 'plans', 'drift', 'retire', 'forget'],
  Hiring: ['hire', 'milestones', 'team'],
  Work: ['contracts', 'usage', 'budgets', 'guidelines', 'manuals', 'review'],
  Marketplace: [
    ...['installs', 'links', 'reconcile', 'runs', 'deliveries', 'endpoint', 'token', 'marketplace'],
    sandboxCommand,
  ],
  System: [
    ...['tools', 'settings', 'notifications', 'audit'],
    ...[
      adapterCommand,
      keyCommand,
      backupCommand,
      restoreCommand,
      migrateCommand,
      mcpCommand,
      completionCommand,
      versionCommand,
    ],
  ],
};

const examples = `Examples:
  $ gangway try                        see it work, with a simulated marketplace
  $ gangway connect acme               connect a customer by their token
  $ gangway status                     see what needs you
  $ gangway explain ada@example.com    see why somebody is in a project, or is not
  $ gangway plans approve 3            let the removals of plan 3 go ahead
  $ gangway members --output csv       export a list`;

/** Commands of a noun that are no operations, because they work on this machine. */
const beside: Readonly<Record<string, readonly CreateCommand[]>> = {
  usage: [importCommand, templateCommand],
};

/** @returns the exit status */
export async function runCli(argv: string[], terminal: Terminal): Promise<number> {
  try {
    await (await createProgram(terminal, argv)).parseAsync(argv, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof Ending) return error.status;
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      const message = error.message.replace('error: ', '');
      if (asksForJson(argv)) printError(terminal, { message, code: 'usage' }, true);
      return usageError;
    }
    printError(terminal, toAppError(error), asksForJson(argv));
    return 1;
  }
}

function asksForJson(argv: readonly string[]): boolean {
  return /(^| )(--json|--output[ =]json)( |$)/.test(argv.join(' '));
}

/** @param words of the command line: only the nouns in it are loaded; by default all are */
export async function createProgram(terminal: Terminal, words?: string[]): Promise<Command> {
  const program = new Command('gangway')
    .description('Keeps the members of an annotation tool equal to the people with an active contract.')
    .version(versionText, '-V, --version', 'Print version, commit and schema')
    .option('--config <file>', 'The configuration, anywhere on the line (gangway.config.json)')
    .option('--remote <url>', 'Ask a running instance by its API, with the token in GANGWAY_API_TOKEN')
    .option(
      '--env-file <file>',
      'Variables in lines NAME=value, instead of the .env beside the configuration; one that is set wins',
    )
    .addHelpText('after', `\n${examples}`);
  for (const [heading, commands] of Object.entries(groups)) {
    program.commandsGroup(`${heading}:`);
    for (const command of commands) program.addCommand(await createOne(command, terminal, words));
  }
  program.addCommand(autoCommand(terminal), { hidden: true });
  for (const command of withSubcommands(program)) {
    if (command.commands.length > 0) refuseUnknown(command.helpCommand('help [command]', 'Show the help of a command'));
    command
      .helpOption('-h, --help', 'Show this help')
      .configureHelp({ subcommandTerm: (one) => one.name() })
      .configureOutput({
        writeOut: (text) => terminal.stdout.write(text),
        // For machines, `runCli` prints the error.
        writeErr: (text) => asksForJson(words ?? []) || terminal.stderr.write(text),
      })
      .exitOverride()
      .showHelpAfterError('(--help shows what there is)');
  }
  return program;
}

async function createOne(command: CreateCommand | string, terminal: Terminal, words?: string[]): Promise<Command> {
  if (typeof command !== 'string') return command(terminal);
  const isUsed = words?.includes(command) !== false;
  const noun = command === 'marketplace' ? marketplace : nouns[command];
  if (noun === undefined) throw new AppError('internal', `There is no noun ${command}`);
  if (!isUsed) return new Command(command).description(noun.about);
  if ('create' in noun) return (await noun.create()).createMarketplaceCommand(terminal, words).description(noun.about);
  const { createNounCommand } = await import('./operation-commands.ts');
  return await createNounCommand(command, noun, terminal, beside[command]);
}

/** Its operations are no operations of Gangway. */
const marketplace = {
  about: "Call any operation of the marketplace's API with the token of an install",
  create: () => import('./marketplace-command.ts'),
};

/** A group that works without a subcommand would take a mistyped one for an argument. */
function refuseUnknown(group: Command): void {
  const refuse = () => {
    const [word = '-'] = group.args;
    const known = group.commands.map((command) => command.name());
    if (word.startsWith('-') || known.includes(word)) return;
    group.error(`error: unknown command '${word}'${suggestNearest(word, known)}`);
  };
  group.allowExcessArguments().on('command:*', refuse).hook('preSubcommand', refuse).hook('preAction', refuse);
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}
