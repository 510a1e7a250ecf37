import type { Command } from 'commander';
import { createProgram } from '../../src/cli/cli.ts';

/** The declared command line. Nothing of it runs. */
export const commandTree = await createTree();

async function createTree(): Promise<Command> {
  const { stdin, stdout, stderr } = process;
  return await createProgram({ stdin, stdout, stderr, signal: AbortSignal.any([]) });
}

/** What the help of `parent` shows, without the help itself. */
export function visibleCommands(parent: Command): Command[] {
  return parent
    .createHelp()
    .visibleCommands(parent)
    .filter((command) => command.name() !== 'help');
}

/** The command that the first words name, and what follows them. */
export function findCommand(program: Command, words: string[]): { command: Command; rest: string[] } {
  const [first, ...rest] = words;
  const child = program.commands.find((command) => command.name() === first);
  return child === undefined ? { command: program, rest: words } : findCommand(child, rest);
}

/** Parses a command line as the program would, and carries out nothing. Throws what it would refuse. */
export async function parseCommand(argv: string[]): Promise<void> {
  const program = await createTree();
  for (const command of allCommands(program)) command.action(() => undefined);
  await program.parseAsync(argv, { from: 'user' });
}

function allCommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(allCommands)];
}
