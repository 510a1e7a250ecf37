import type { Argument, Command } from 'commander';
import { commandTree, visibleCommands } from './command-tree.ts';

/** The part of `docs/commands.md` that follows from the command line: every command with its options. */
export function commandsPage(): string {
  const program = commandTree();
  return [
    ['## For every command', ...listOf(optionsOf(program))].join('\n'),
    ...visibleCommands(program).flatMap((command) => sectionsOf(command, 'gangway', 2)),
  ].join('\n\n');
}

function sectionsOf(command: Command, before: string, level: number): string[] {
  const name = `${before} ${command.name()}`;
  const usage = [name, ...command.registeredArguments.map((argument) => termOf(argument))].join(' ');
  const lines = [`${'#'.repeat(level)} \`${usage}\``, '', toSentence(command.description())];
  lines.push(...listOf([...argumentsOf(command), ...optionsOf(command)]), ...notesOf(command));
  return [lines.join('\n'), ...visibleCommands(command).flatMap((child) => sectionsOf(child, name, level + 1))];
}

function termOf(argument: Argument): string {
  const inner = argument.name() + (argument.variadic ? '…' : '');
  return argument.required ? `<${inner}>` : `[${inner}]`;
}

type Entry = [term: string, description: string];

function argumentsOf(command: Command): Entry[] {
  const help = command.createHelp();
  return help.visibleArguments(command).map((argument) => [termOf(argument), help.argumentDescription(argument)]);
}

function optionsOf(command: Command): Entry[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter((option) => option.long !== '--help');
  return options.map((option) => [help.optionTerm(option), help.optionDescription(option)]);
}

/** What commander is besides, and its types do not say. */
interface Emitter {
  emit(event: string, context: object): boolean;
}

/** What the help says after the options. */
function notesOf(command: Command): string[] {
  const notes: string[] = [];
  const emitter = command as unknown as Emitter;
  emitter.emit('afterHelp', { error: false, command, write: (text: string) => notes.push(text.trim()) });
  return notes.flatMap((note) => ['', '```text', note, '```']);
}

/** As Markdown, with the empty line that a list needs before it. */
function listOf(entries: Entry[]): string[] {
  if (entries.length === 0) return [];
  return ['', ...entries.map(([term, description]) => `- \`${term}\`: ${description.replaceAll('<', '\\<')}`)];
}

function toSentence(description: string): string {
  const text = description.replaceAll('<', '\\<');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}
