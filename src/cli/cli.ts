import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { toAppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import { createAdapterCommand } from './adapter-command.ts';
import { createAutoCommand } from './auto-command.ts';
import { createConnectCommand } from './connect-command.ts';
import { createContractsCommand } from './contracts-command.ts';
import { createDeliveriesCommand } from './deliveries-command.ts';
import { createDoctorCommand } from './doctor-command.ts';
import { Ending } from './ending.ts';
import { createEndpointCommand } from './endpoint-command.ts';
import { createExplainCommand } from './explain-command.ts';
import { createForgetCommand } from './forget-command.ts';
import { createInitCommand } from './init-command.ts';
import { createInstallsCommand } from './installs-command.ts';
import { createKeyCommand } from './key-command.ts';
import { createLinksCommand } from './links-command.ts';
import { createMembersCommand } from './members-command.ts';
import { createMigrateCommand } from './migrate-command.ts';
import { createNotificationsCommand } from './notifications-command.ts';
import { createPlansCommand } from './plans-command.ts';
import { createReconcileCommand } from './reconcile-command.ts';
import { createRetireCommand } from './retire-command.ts';
import { createSandboxCommand } from './sandbox-command.ts';
import { createStartCommand } from './start-command.ts';
import { createStatusCommand } from './status-command.ts';
import type { Terminal } from './terminal.ts';
import { createToolsCommand } from './tools-command.ts';
import { createTryCommand } from './try-command.ts';
import { createUsageCommand } from './usage-command.ts';

/**
 * The command line. stdout is data, stderr is for people and logs; every command ends with a status
 * that a script can rely on: 0 done, 1 failed, 64 used wrongly, and what a command says with
 * `endWith`.
 */
const usageError = 64;

/** By its own name: `package.json` is not as far from the sources as from what is built of them. */
const { version } = createRequire(import.meta.url)('gangway/package.json') as { version: string };

/** @returns the exit status */
export async function runCli(argv: string[], terminal: Terminal): Promise<number> {
  try {
    await createProgram(terminal).parseAsync(argv, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof Ending) return error.status;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageError;
    terminal.stderr.write(`gangway: ${maskText(toAppError(error).message)}\n`);
    return 1;
  }
}

export function createProgram(terminal: Terminal): Command {
  const program = new Command('gangway')
    .description('Keeps the members of an annotation tool equal to the people with an active contract.')
    .version(version, '--version', 'print the version')
    .option('--config <file>', 'the configuration, anywhere on the line (gangway.config.json)')
    .option('--env-file <file>', 'variables for it, in lines NAME=value; those that are set go before')
    .addCommand(createInitCommand(terminal))
    .addCommand(createConnectCommand(terminal))
    .addCommand(createStartCommand(terminal))
    .addCommand(createTryCommand(terminal))
    .addCommand(createStatusCommand(terminal))
    .addCommand(createDoctorCommand(terminal))
    .addCommand(createMembersCommand(terminal))
    .addCommand(createExplainCommand(terminal))
    .addCommand(createReconcileCommand(terminal))
    .addCommand(createPlansCommand(terminal))
    .addCommand(createUsageCommand(terminal))
    .addCommand(createNotificationsCommand(terminal))
    .addCommand(createLinksCommand(terminal))
    .addCommand(createContractsCommand(terminal))
    .addCommand(createInstallsCommand(terminal))
    .addCommand(createToolsCommand(terminal))
    .addCommand(createDeliveriesCommand(terminal))
    .addCommand(createEndpointCommand(terminal))
    .addCommand(createRetireCommand(terminal))
    .addCommand(createForgetCommand(terminal))
    .addCommand(createKeyCommand(terminal))
    .addCommand(createMigrateCommand(terminal))
    .addCommand(createAdapterCommand(terminal))
    .addCommand(createSandboxCommand(terminal))
    .addCommand(createAutoCommand(terminal), { hidden: true });
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
