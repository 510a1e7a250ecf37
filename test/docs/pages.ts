import type { Argument, Command } from 'commander';
import { listCoverage } from '../../src/cli/marketplace-coverage.ts';
import { otherVariables, overridesFile, variables } from '../../src/config/environment.ts';
import { configJsonSchema, type JsonSchema } from '../../src/config/json-schema.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { sayCount } from '../../src/lib/text.ts';
import { troubleRules } from '../../src/lib/troubles.ts';
import { ruleOf } from '../../src/notify/alert-rules.ts';
import { operations } from '../../src/operations/all.ts';
import { commandTree, visibleCommands } from './command-tree.ts';

/** The pages with a generated part. */
export const pages: Record<string, () => string> = {
  'docs/operating.md': troublesTable,
  'docs/reference.md': reference,
};

function reference(): string {
  return [
    ...['## Commands', ...describeCommands()],
    ...['## Configuration', ...describeConfiguration()],
    ...['## Variables', describeVariables()],
    ...['## API', describeOperations()],
    ...['## Operations of the marketplace', describeMarketplace()],
    ...['## Metrics', describeMetrics()],
  ].join('\n\n');
}

/** What the introduction of the page says once: options of every command, and of lists. */
const ofEveryCommand = ['--help', '--json'];
const ofLists = ['--output', '--limit', '--cursor'];

/** Every command with its options. */
function describeCommands(): string[] {
  const program = commandTree;
  const groups = Object.entries(Object.groupBy(visibleCommands(program), (command) => command.helpGroup()));
  return [
    ['### Options of every command', ...listOf(optionsOf(program))].join('\n'),
    ...groups.flatMap(([heading = '', commands = []]) => [
      `### ${heading.replace(':', '')}`,
      ...commands.flatMap((command) => sectionsOf(command, 'gangway', 4)),
    ]),
  ];
}

/** Its many commands are in a table, and each explains itself. */
const inTable = 'gangway marketplace';

function sectionsOf(command: Command, before: string, level: number): string[] {
  const name = `${before} ${command.name()}`;
  const usage = [name, ...command.registeredArguments.map((argument) => termOf(argument))].join(' ');
  const lines = [`${'#'.repeat(level)} \`${usage}\``, '', toSentence(command.description())];
  lines.push(...listOf([...argumentsOf(command), ...optionsOf(command)]), ...notesOf(command));
  const children = visibleCommands(command).filter((child) => name !== inTable || child.commands.length === 0);
  return [lines.join('\n'), ...children.flatMap((child) => sectionsOf(child, name, level + 1))];
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
  const options = help.visibleOptions(command);
  const own = options.filter(({ long = '' }) => ![...ofEveryCommand, ...ofLists].includes(long));
  const shared = ofLists.filter((name) => options.some(({ long }) => long === name));
  return [
    ...own.map<Entry>((option) => [help.optionTerm(option), help.optionDescription(option)]),
    ...(shared.length === 0 ? [] : [[shared.join('`, `'), 'as in every list'] satisfies Entry]),
  ];
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

/** Every key of the configuration with its default and its meaning. */
function describeConfiguration(): string[] {
  const { properties = {} } = configJsonSchema();
  return Object.entries(properties)
    .filter(([name]) => name !== '$schema')
    .map(([name, schema]) => sectionOf(name, toSchema(schema)));
}

function sectionOf(name: string, schema: JsonSchema): string {
  const table = toTable(['key', 'default', 'meaning'], rowsOf(schema, name));
  return `### \`${name}\`\n\n${schema.description ?? ''}\n\n${table}`;
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

function describeVariables(): string {
  const ofKeys = variables.map((variable) => {
    const key = variable.path.join('.').replace('*', '<name>');
    return [`\`${variable.name}\``, `\`${key}\`${overridesFile(variable) ? ', also beside a file' : ''}`];
  });
  const others = Object.entries(otherVariables).map(([name, meaning]) => [`\`${name}\``, meaning]);
  return toTable(['variable', 'sets'], [...ofKeys, ...others]);
}

function describeOperations(): string {
  const rows = operations.map(({ method, path, role, summary }) => [
    `\`${method.toUpperCase()} ${path}\``,
    role,
    summary,
  ]);
  return toTable(['request', 'role', 'what it does'], rows);
}

/** What `gangway marketplace coverage` prints. */
function describeMarketplace(): string {
  const rows = listCoverage().map(({ family, operation, method, path, section, states, note }) => [
    `${family} ${operation ?? ''}`,
    method === null ? '' : `\`${method} ${path}\``,
    section,
    states.join(', '),
    note ?? '',
  ]);
  return toTable(['operation', 'request', 'section', 'states', 'note'], rows);
}

function describeMetrics(): string {
  const { registry, ...metrics } = createMetrics();
  const rows = Object.values(metrics).map((metric) => {
    // The package does not declare that it shows them.
    const { name, help, labelNames } = metric as unknown as { name: string; help: string; labelNames: string[] };
    const labels = labelNames.map((label) => `\`${label}\``).join(', ');
    return [`\`${name}\``, metric.constructor.name.toLowerCase(), labels, help];
  });
  return toTable(['metric', 'type', 'labels', 'meaning'], rows);
}

/** What `gangway status` lists. Links lead to the name of a kind. */
function troublesTable(): string {
  const rows = Object.entries(troubleRules).map(([kind, { severity, means, action, notice }]) => {
    // Outside of commands, Markdown would take a name in angle brackets for HTML.
    const shown = action.replaceAll(/`[^`]*`|</g, (part) => (part === '<' ? '\\<' : part));
    const sent = notice === undefined ? '' : sayAfter(notice.afterMs ?? 0);
    const end = ruleOf(kind)?.over === 'at_once' ? ', without an end' : '';
    return [`<a id="${kind}"></a>\`${kind}\``, severity, `${sent}${end}`, means, shown];
  });
  return toTable(['kind', 'severity', 'alert', 'means', 'to do'], rows);
}

function toTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(heads), `|${'---|'.repeat(heads.length)}`, ...rows.map(line)].join('\n');
}

/** How long after it began it is sent. */
function sayAfter(ms: number): string {
  if (ms === 0) return 'at once';
  return `after ${ms < 3_600_000 ? sayCount(ms / 60_000, 'minute') : sayCount(ms / 3_600_000, 'hour')}`;
}
