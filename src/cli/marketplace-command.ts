import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { isDocument } from '../config/document.ts';
import { parseJson } from '../config/read-file.ts';
import { AppError } from '../domain/errors.ts';
import { operations } from '../marketplace/contract/contract.ts';
import { hasSecret, toJsonSchema } from '../marketplace/contract/json-schema.ts';
import { fieldsOfPath, methodOf, type Operation } from '../marketplace/contract/operation.ts';
import { type Field, fieldsOf, fromTexts } from '../operations/input.ts';
import { createSession, defineCommand, toKebab } from './define-command.ts';
import type { CallOptions } from './marketplace-call.ts';
import { checkLine, optionOf, readTexts, toArgument, toOption } from './operation-commands.ts';
import { toDuration } from './options.ts';
import type { Session, Terminal } from './session.ts';

const notes = `The answer of an operation is for people; with --json it is printed as it came. What Gangway does itself for
an install cannot be changed here: the help of such an operation names the command to use.
Exit status of --wait: 0 confirmed, 1 declined or expired, 2 still pending.`;

const coverageCommand = defineCommand({
  name: 'coverage',
  description: 'List every operation of the API: whether it is assumed, in the sandbox, and relied on',
  run: async () => (await import('./marketplace-coverage.ts')).runCoverage,
  local: 'it asks nobody',
});

/**
 * A command for each operation of the contract, by family.
 *
 * @param words of the command line: only the families in it have commands; by default all have
 */
export function createMarketplaceCommand(terminal: Terminal, words?: readonly string[]): Command {
  const command = new Command('marketplace').addHelpText('after', `\n${notes}`).addCommand(coverageCommand(terminal));
  for (const [family, all = []] of Object.entries(Object.groupBy(operations, (one) => one.family))) {
    const group = new Command(family).description(all.map(({ name }) => toKebab(name)).join(', '));
    const isUsed = words?.includes(family) !== false;
    for (const operation of isUsed ? all : []) group.addCommand(createCommand(operation, terminal));
    command.addCommand(group);
  }
  return command;
}

function createCommand(operation: Operation, terminal: Terminal): Command {
  const { name, purpose, own, in: schema } = operation;
  const command = new Command(toKebab(name)).description(`${purpose.charAt(0).toUpperCase()}${purpose.slice(1)}`);
  if (own !== undefined && methodOf(operation) !== 'GET') return refuseAll(command, own);
  const args = fieldsOfPath(operation);
  for (const arg of args) command.addArgument(toArgument(arg, undefined, false).argRequired());
  const fields = fieldsOfLine(operation);
  for (const [field, about] of fields) command.addOption(toOption(field, about));
  for (const option of optionsOf(operation)) command.addOption(option);
  command.addHelpText('after', `\n${notesOf(operation, fields)}`);
  return command.action(async () => {
    const session = createSession(terminal, command);
    const line: CallOptions = command.optsWithGlobals();
    refuseLine(session, operation, line);
    const texts = readTexts(command, [], [...fields.keys()]);
    const input = { ...(await readFields(session, line)), ...fromTexts(schema, texts) };
    const nameOf = (field: string) => (fields.has(field) ? optionOf(field) : field);
    // The checked input lacks unknown fields, and the marketplace may know more than the contract does.
    checkLine(session, operation.isStrict ? schema.strict() : schema, input, nameOf);
    const { callMarketplace } = await import('./marketplace-call.ts');
    await callMarketplace({ session, operation, input: { ...input, ...readTexts(command, args, args) }, line });
  });
}

/** For what Gangway does itself, whatever the rest of the line is. */
function refuseAll(command: Command, own: string): Command {
  const says = `Gangway does this itself for an install: ${own}`;
  command.allowUnknownOption().allowExcessArguments().addHelpText('after', `\n${says}`);
  return command.action(() => command.error(`error: ${says}`));
}

/** The fields that can be options: other people see a command line, so a secret cannot. */
function fieldsOfLine({ in: schema }: Operation): Map<string, Field> {
  const says: Partial<Record<Field['type'], string>> = { list: 'May be repeated.', number: 'A number.' };
  const shown = [...fieldsOf(schema)].filter(([name, { type }]) => type !== 'nested' && !hasSecret(schema.shape[name]));
  return new Map(
    shown.map(([name, field]) => {
      const parts = [field.description || says[field.type], field.isRequired ? 'Required.' : ''];
      return [name, { ...field, description: parts.filter(Boolean).join(' ') }];
    }),
  );
}

/** What a call can have besides its fields. */
function optionsOf({ credential, pages, isFile, isFinal, out }: Operation): Option[] {
  const isDecided = 'approval' in Object(toJsonSchema(out)['properties']);
  const offered: [flags: string, description: string, isOffered: boolean][] = [
    ['--install <name>', 'The install whose token is used', credential === 'personal' || credential === 'platform'],
    ['--input <file>', 'More fields as a JSON object, also such as have no option; - reads stdin', true],
    ['--output <file>', 'The new file to write', isFile],
    ['--all', 'Read all pages', pages !== undefined],
    ['--show-secret', 'Print the secret in the answer, which the marketplace shows once', hasSecret(out)],
    ['--yes', 'Do not ask', isFinal],
    ['--dry-run', 'Print the request without the token, and send nothing', true],
    ['--json', 'Print the answer as it came', true],
  ];
  const options = offered.filter(([, , isOffered]) => isOffered).map(([flags, says]) => new Option(flags, says));
  const wait = new Option('--wait <duration>', 'Wait for the decision of a person').argParser(toDuration);
  return isDecided ? [...options, wait] : options;
}

function notesOf(operation: Operation, options: ReadonlyMap<string, Field>): string {
  const { address, section, credential, scopes, feature, role, needsClaim, isConfirmed, limits, assumed } = operation;
  const token = credential === 'none' ? 'no token' : `a ${credential} token`;
  const person = isConfirmed && 'a person who confirms it';
  const titled = {
    Needs: [token, ...scopes, feature, role, needsClaim && 'a claimed account', person],
    'Only by --input': Object.keys(operation.in.shape).filter((field) => !options.has(field)),
    Limits: limits,
    Assumed: [assumed],
  };
  const lines = Object.entries(titled).map(([title, all]) => `${title}: ${all.filter(Boolean).join(', ')}`);
  return [`${address} (specification: ${section})`, ...lines.filter((line) => !line.endsWith(': '))].join('\n');
}

/** Refuses what is wrong whatever the input is. */
function refuseLine(
  { line: { remote }, terminal, misuse }: Session,
  { out, isFile }: Operation,
  line: CallOptions,
): void {
  if (remote !== undefined) misuse('it does not take --remote: it uses the tokens that are stored here');
  if (line.dryRun) return;
  if (hasSecret(out) && !line.showSecret) {
    misuse('the answer has a secret that the marketplace shows once: --show-secret prints it');
  }
  if (isFile && line.output === undefined && terminal.stdout.isTTY) misuse('--output <file> is needed at a terminal');
}

async function readFields({ terminal, misuse }: Session, { input: file }: CallOptions): Promise<object> {
  if (file === undefined) return {};
  try {
    const fields = parseJson(file === '-' ? await text(terminal.stdin) : await readFile(file, 'utf8'));
    if (isDocument(fields)) return fields;
  } catch (error) {
    misuse(`--input ${file}: ${error instanceof AppError ? error.message : 'cannot be read'}`);
  }
  return misuse(`--input ${file}: must hold one JSON object, {…}`);
}
