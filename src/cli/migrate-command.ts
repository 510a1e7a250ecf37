import { Command } from 'commander';
import { print, withStorage } from './command-context.ts';
import type { Terminal } from './terminal.ts';

/** `gangway migrate`: what every start does first, for those who want it to be a step of its own. */
export function createMigrateCommand(terminal: Terminal): Command {
  return new Command('migrate')
    .description("bring the database to this version's tables; harmless to repeat")
    .option('--json', 'print one JSON object instead of text')
    .action((options: { json?: true }, command: Command) =>
      withStorage(
        command,
        async ({ migrated }) => {
          print(terminal, options.json, { migrated }, () =>
            migrated.length === 0 ? 'The database is up to date.' : migrated.map((name) => `Ran ${name}.`).join('\n'),
          );
        },
        { mayBeFirst: true },
      ),
    );
}
