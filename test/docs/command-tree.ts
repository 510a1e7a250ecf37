import type { Command } from 'commander';
import { createProgram } from '../../src/cli/cli.ts';

/** The command line as it is declared; nothing of it runs. */
export function commandTree(): Command {
  const { stdin, stdout, stderr } = process;
  return createProgram({ stdin, stdout, stderr, signal: AbortSignal.any([]) });
}

/** What the help of `parent` shows, without the help itself. */
export function visibleCommands(parent: Command): Command[] {
  return parent
    .createHelp()
    .visibleCommands(parent)
    .filter((command) => command.name() !== 'help');
}
