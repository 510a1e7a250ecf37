import { Command } from 'commander';
import { findConfiguration } from '../config/find-configuration.ts';
import { AppError } from '../domain/errors.ts';
import { toQuery } from './command-context.ts';
import { runStart } from './start-command.ts';
import type { Terminal } from './terminal.ts';
import { runTry } from './try-command.ts';

/**
 * What `npm start` runs in a checkout: `start` where anything looks like a configuration, else
 * `try`. Nothing else falls back to `try`, least of all the image.
 */
export function createAutoCommand(terminal: Terminal): Command {
  return new Command('auto')
    .description('start with a configuration, try without one')
    .option('--exit', 'stop after the tour of `try`')
    .action(async ({ exit }: { exit?: true }, command: Command) => {
      const found = findConfiguration(toQuery(command));
      if (found.kind === 'none') return await runTry(terminal, exit ? { exit } : {});
      if (exit) throw new AppError('invalid', '--exit is for `try`, and there is a configuration');
      await runStart(terminal, command);
    });
}
