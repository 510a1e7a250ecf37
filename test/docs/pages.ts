import type { Argument, Command } from 'commander';
import { configJsonSchema, type JsonSchema } from '../../src/config/json-schema.ts';
import { sayCount } from '../../src/lib/say-count.ts';
import { troubleRules } from '../../src/lib/trouble-rules.ts';
import { commandTree, visibleCommands } from './command-tree.ts';

/** The pages with a generated part. */
export const pages: Record<string, () => string> = {
  'docs/commands.md': commandsPage,
  'docs/configuration.md': configurationPage,
  'docs/operating.md': troublesTable,
};

/** The part of `docs/commands.md` that follows from the command line: every command with its options. */
function commandsPage(): string {
  const program = commandTree;
  const groups = Object.entries(Object.groupBy(visibleCommands(program), (command) => command.helpGroup()));
  return [
    ['## For every command', ...listOf(optionsOf(program))].join('\n'),
    ...groups.flatMap(([heading = '', commands = []]) => [
      `## ${heading.replace(':', '')}`,
      ...commands.flatMap((command) => sectionsOf(command, 'gangway', 3)),
    ]),
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

/** The part of `docs/configuration.md` that follows from the schema: every key with its default and its meaning. */
function configurationPage(): string {
  const { properties = {} } = configJsonSchema();
  return Object.entries(properties)
    .filter(([name]) => name !== '$schema')
    .map(([name, schema]) => sectionOf(name, toSchema(schema)))
    .join('\n\n');
}

function sectionOf(name: string, schema: JsonSchema): string {
  const rows = rowsOf(schema, name).map((cells) => `| ${cells.join(' | ')} |`);
  const table = ['| key | default | meaning |', '|---|---|---|', ...rows];
  return [`## \`${name}\``, '', schema.description ?? '', '', ...table].join('\n');
}

type Row = [key: string, preset: string, meaning: string];

function rowsOf(schema: JsonSchema, path: string): Row[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([key, child]) =>
    rowsAt(`${path}.${key}`, toSchema(child), schema.required?.includes(key) === true),
  );
  const named = schema.additionalProperties === undefined ? {} : toSchema(schema.additionalProperties);
  const shapes = named.oneOf?.map(toSchema) ?? (named.properties === undefined ? [] : [named]);
  return [...own, ...shapes.flatMap((shape) => rowsOf(shape, `${path}.<name>`))];
}

function rowsAt(path: string, schema: JsonSchema, isRequired: boolean): Row[] {
  const below = rowsOf(schema, path);
  if (below.length > 0) return below;
  return [[`\`${path}\``, presetOf(schema, isRequired), meaningOf(schema)]];
}

function presetOf(schema: JsonSchema, isRequired: boolean): string {
  if (schema.default !== undefined) return `\`${JSON.stringify(schema.default)}\``;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  return isRequired ? 'required' : '';
}

function meaningOf(schema: JsonSchema): string {
  const isSecret = JSON.stringify(schema.anyOf ?? toSchema(schema.items).anyOf ?? '').includes('"env"');
  const choices =
    schema.enum === undefined ? '' : ` One of ${schema.enum.map((choice) => `\`${choice}\``).join(', ')}.`;
  return `${schema.description ?? ''}${choices}${isSecret ? ' May be a reference.' : ''}`.replaceAll(/[|<]/g, '\\$&');
}

function toSchema(schema: unknown): JsonSchema {
  return typeof schema === 'object' && schema !== null ? (schema as JsonSchema) : {};
}

/** The part of `docs/operating.md` that says what `gangway status` lists. */
function troublesTable(): string {
  const rows = Object.entries(troubleRules).map(([kind, { severity, means, action, notice }]) => {
    // Outside of commands, Markdown would take a name in angle brackets for HTML.
    const shown = action.replaceAll(/`[^`]*`|</g, (part) => (part === '<' ? '\\<' : part));
    const sent = notice === undefined ? '' : sayAfter(notice.afterMs ?? 0);
    return `| \`${kind}\` | ${severity} | ${sent} | ${means} | ${shown} |`;
  });
  return ['| kind | severity | alert | means | to do |', '|---|---|---|---|---|', ...rows].join('\n');
}

/** How long after it began it is sent. */
function sayAfter(ms: number): string {
  if (ms === 0) return 'at once';
  return `after ${ms < 3_600_000 ? sayCount(ms / 60_000, 'minute') : sayCount(ms / 3_600_000, 'hour')}`;
}
