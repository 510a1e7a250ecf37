import path from 'node:path';
import { Argument, Command, Option } from 'commander';
import { readSmallFile } from '../config/read-file.ts';
import { toAppError } from '../domain/errors.ts';
import type { Loop } from '../lib/loop.ts';
import { mapTexts, stripControl } from '../lib/text.ts';
import type { FileChanges, Files } from '../manuals/manual-folder.ts';
import {
  answer,
  checkInput,
  type Field,
  fieldsOf,
  fromTexts,
  hasPages,
  inputOfCommand,
  mayLeaveOutInstall,
} from '../operations/input.ts';
import type { Noun } from '../operations/nouns.ts';
import { type ExitStatus, fieldsOfPath, type Operation, type OperationContext } from '../operations/operation.ts';
import { longestPage } from '../operations/paging.ts';
import { formatList, toCsv, withoutMilliseconds } from '../operations/text-table.ts';
import { type CreateCommand, createSession, Ending, toKebab } from './define-command.ts';
import { readFolder, writeFolder } from './folder-files.ts';
import {
  type OperationName,
  printError,
  type RemoteSession,
  type Session,
  type Terminal,
  withProgress,
} from './session.ts';

/**
 * The command of a noun, with a subcommand for each of its operations.
 *
 * @param beside commands of the noun that are no operations, because they work on this machine
 */
export async function createNounCommand(
  name: string,
  noun: Noun,
  terminal: Terminal,
  beside: readonly CreateCommand[] = [],
): Promise<Command> {
  const { operations: all } = await noun.load();
  const operations = all.filter(({ hasCommand }) => hasCommand);
  const [only, ...others] = operations;
  if (only !== undefined && others.length + beside.length === 0) return createCommand(name, only, terminal);
  const command = new Command(name).description(noun.about);
  for (const operation of operations) {
    const { verb } = operation;
    command.addCommand(createCommand(verb, operation, terminal), { isDefault: defaultVerbs.has(verb) });
  }
  for (const create of beside) command.addCommand(create(terminal));
  return command;
}

/** The verbs that a noun runs if none is named. */
export const defaultVerbs: ReadonlySet<string> = new Set(['list', 'now']);

function createCommand(name: string, operation: Operation, terminal: Terminal): Command {
  const fields = fieldsOf(inputOfCommand(operation));
  const command = new Command(name).description(operation.summary);
  for (const arg of operation.args) {
    const mayBeLeftOut = arg === 'install' && mayLeaveOutInstall(operation);
    command.addArgument(toArgument(arg, fields.get(arg), mayBeLeftOut));
  }
  const options = [...fields].filter(([field]) => !operation.args.includes(field));
  for (const [field, about] of options) command.addOption(toOption(field, about));
  command.option('--json', 'Print the answer of the API as JSON; the same as --output json.');
  if ('columns' in operation.show) {
    command.addOption(new Option('--output <format>', 'How to print the rows.').choices(['table', 'csv', 'json']));
  }
  return command.action(async () => {
    const line: { json?: boolean; output?: Output } & Record<string, unknown> = command.optsWithGlobals();
    const output = line.json === true ? 'json' : (line.output ?? 'table');
    const session = createSession(terminal, command);
    const texts = readTexts(command, operation.args, [...fields.keys()]);
    let folder: string | undefined;
    let read: Files = {};
    for (const [field, { isFile, isFolder }] of fields) {
      if (isFile) texts[field] = readSmallFile(String(texts[field]), process.cwd());
      if (!isFolder) continue;
      folder = path.resolve(String(texts[field]));
      read = readFolder(folder);
      texts[field] = read as unknown as string;
    }
    const input = toInput(operation, texts, session);
    await openAsk(session, operation, input, async (ask) => {
      if (needsInstall(operation, texts)) Object.assign(input, { install: pickInstall(session, await ask.installs()) });
      let answer = await askAll(operation, input, ask);
      for (let set = await askPerson(session, operation, answer); set.length > 0; ) {
        answer = await ask.answer(operation, { ...input, set });
        set = await askPerson(session, operation, answer);
      }
      if (folder !== undefined) writeFolder(folder, (answer as { files: FileChanges }).files, read);
      const status = printAnswer(terminal, operation, answer, output, input);
      if (status !== 0) throw new Ending(status);
    });
  });
}

/** @returns the answers, as `key=value`; none without a terminal, or if nothing is missing or typed */
async function askPerson({ terminal }: Session, { questions }: Operation, answer: object): Promise<string[]> {
  const { askTyped } = await import('./ask.ts');
  const set: string[] = [];
  for (const { says, key } of terminal.stdin.isTTY === true ? questions(answer) : []) {
    const typed = await askTyped(terminal, `${stripControl(says)}\n${key}:`);
    if (typed) set.push(`${key}=${typed}`);
  }
  return set;
}

export function toArgument(name: string, field: Field | undefined, mayBeLeftOut: boolean): Argument {
  const isMany = field?.type === 'list';
  const term = `${toKebab(name)}${isMany ? '...' : ''}`;
  return new Argument(
    field?.isRequired === true && !mayBeLeftOut ? `<${term}>` : `[${term}]`,
    field?.description ?? '',
  );
}

export function toOption(name: string, { type, choices, preset, description }: Field): Option {
  const flag = optionOf(name);
  if (type === 'flag') return new Option(flag, description);
  // The schema fills in the default, so commander does not know it.
  const says = preset === undefined ? description : `${description} (default: ${String(preset)})`;
  const option = new Option(`${flag} <${choices?.join('|') ?? toKebab(name)}>`, says);
  if (type === 'list') option.argParser((text: string, before: string[] | undefined) => [...(before ?? []), text]);
  return option;
}

export function optionOf(name: string): string {
  return `--${toKebab(name)}`;
}

/** The text on the command line for each field. @param args the fields that are arguments, in this order */
export function readTexts(command: Command, args: readonly string[], fields: readonly string[]): Texts {
  const line: Record<string, unknown> = command.optsWithGlobals();
  const texts: Texts = {};
  for (const field of fields) {
    const at = args.indexOf(field);
    const given = at >= 0 ? command.processedArgs[at] : line[new Option(optionOf(field)).attributeName()];
    if (given === true) texts[field] = 'true';
    else if (typeof given === 'string' || (Array.isArray(given) && given.length > 0)) texts[field] = given;
  }
  return texts;
}

type Texts = Record<string, string | string[]>;

/** The input, checked before anything is opened. An install that may be left out is filled in later. */
function toInput(operation: Operation, texts: Texts, session: Session): object {
  const schema = inputOfCommand(operation);
  const given = needsInstall(operation, texts) ? { ...texts, install: 'default' } : texts;
  const nameOf = (field: string) => (operation.args.includes(field) ? `<${toKebab(field)}>` : optionOf(field));
  return checkLine(session, schema, fromTexts(schema, given), nameOf);
}

/** The checked input. If a field does not fit, the command was used wrongly. */
export function checkLine(
  session: Session,
  schema: Parameters<typeof checkInput<object>>[0],
  input: object,
  nameOf: (field: string) => string,
): object {
  try {
    return checkInput(schema, input, nameOf);
  } catch (error) {
    return session.misuse(toAppError(error).message);
  }
}

function needsInstall(operation: Operation, texts: Texts): boolean {
  return mayLeaveOutInstall(operation) && texts['install'] === undefined;
}

/** The answer; for a list with pages, as many pages as the limit needs. */
async function askAll(operation: Operation, input: object, ask: Ask): Promise<object> {
  if (!hasPages(operation)) return await ask.answer(operation, input);
  const { limit, ...rest } = input as { limit: number; cursor?: string };
  const items: unknown[] = [];
  let { cursor } = rest;
  for (;;) {
    const page = { ...rest, limit: Math.min(limit - items.length, longestPage), ...(cursor && { cursor }) };
    const part = (await ask.answer(operation, page)) as { items: unknown[]; next: string | null };
    items.push(...part.items);
    if (part.next === null || items.length >= limit) return { ...part, items };
    cursor = part.next;
  }
}

type Output = 'table' | 'csv' | 'json';

/** @returns the status that the command ends with */
function printAnswer(
  terminal: Terminal,
  { show, problems, status }: Operation,
  answered: object,
  output: Output,
  input: object,
): ExitStatus {
  const { stdout } = terminal;
  const isJson = output === 'json';
  const answer = isJson ? answered : (stripAll(answered) as object);
  if (isJson) stdout.write(`${JSON.stringify(answer)}\n`);
  else if (typeof show === 'function') stdout.write(`${withoutMilliseconds(show(answer))}\n`);
  else if ('bytes' in show) stdout.write(show.bytes(answer));
  else {
    const { rowsOf, columns, whenEmpty } = show;
    const rows = rowsOf(answer);
    stdout.write(output === 'csv' ? toCsv(rows, columns) : `${formatList(rows, columns, whenEmpty)}\n`);
  }
  for (const message of problems(answer)) printError(terminal, { message, code: 'failed' }, isJson);
  return status(answer, input);
}

/** No stranger's text may break a line, move the cursor or colour the terminal. */
export function stripAll(value: unknown): unknown {
  return mapTexts(value, stripControl);
}

/** The named install, or the only one. Otherwise the command was used wrongly. */
export function pickInstall(session: Session, known: readonly string[], named?: string): string {
  const [only] = known;
  if (only === undefined) return session.misuse('there is no install yet: gangway connect <name>');
  if (named === undefined && known.length === 1) return only;
  if (named === undefined) return session.misuse(`name the install: ${known.join(', ')}`);
  if (known.includes(named)) return named;
  return session.misuse(`there is no install "${named}"; there is: ${known.join(', ')}`);
}

/** Runs operations, in this process or at a running instance. */
interface Ask {
  /** @param input checked by the operation's schema */
  answer(operation: Operation, input: object): Promise<object>;
  installs(): Promise<string[]>;
}

async function openAsk(
  session: Session,
  operation: Operation,
  input: object,
  work: (ask: Ask) => Promise<void>,
): Promise<void> {
  const { remote } = session.line;
  if (remote !== undefined) return await work(await openRemoteAsk(session, remote));
  await withContext(session, operation, input, async (ctx, loops) => {
    const { decidedBy } = await import('./with-storage.ts');
    const { terminal } = session;
    await work({
      answer: (one, input) =>
        withProgress(terminal, (onProgress) => {
          const call = { by: decidedBy(), role: 'operator', signal: terminal.signal, loops, onProgress } as const;
          return answer(one, input, ctx, call);
        }),
      installs: async () => [...ctx.installs.keys()].sort(),
    });
  });
}

type Work = (ctx: OperationContext, loops: readonly Loop[]) => Promise<void>;

/** Opens what an operation needs, and closes it after the work. A read writes nothing. */
async function withContext(session: Session, operation: Operation, input: object, work: Work): Promise<void> {
  const needs = { isDry: operation.method === 'get', uses: secretsOf(operation, input) };
  if (operation.asks === 'database' || operation.asks === 'channels') {
    const { withDatabase } = await import('./with-storage.ts');
    return await withDatabase(session, operation, needs, (ctx) => work(ctx, []));
  }
  const { withServices } = await import('./with-services.ts');
  const { examineBridge } = await import('../operations/doctor.ts');
  await withServices(session, needs, async ({ services, registry }) => {
    const examine = (signal: AbortSignal) => examineBridge(services, signal);
    await work({ ...services, registry, examine }, services.loops);
  });
}

/** The parts of the configuration whose secrets are used. What the input names needs no secret of the others. */
function secretsOf({ asks }: Operation, input: object): string[] {
  const { install, tool, channel } = input as Partial<Record<string, string>>;
  const partOf = (part: string, name: string | undefined) => (name === undefined ? part : `${part}.${name}`);
  switch (asks) {
    case 'database':
    case 'services':
      return [];
    case 'channels':
      return [partOf('notifications.channels', channel), 'mail'];
    case 'marketplace':
      return [partOf('installs', install)];
    case 'tools':
      return [partOf('installs', install), partOf('tools', tool)];
  }
}

async function openRemoteAsk(session: Session, url: string): Promise<Ask> {
  const { openRemote } = await import('./open-remote.ts');
  const remote = openRemote(session, url);
  return {
    async answer({ method, path }, input) {
      const names = fieldsOfPath(path);
      const fields = Object.entries(input);
      const params = Object.fromEntries(fields.filter(([name]) => names.includes(name)));
      const rest = Object.fromEntries(fields.filter(([name]) => !names.includes(name)));
      const given = method === 'get' ? { params, query: rest } : { params, body: rest };
      return await remote.ask<object>(`${method.toUpperCase()} ${path}` as OperationName, given);
    },
    installs: () => listInstallsOf(remote),
  };
}

export async function listInstallsOf(remote: RemoteSession): Promise<string[]> {
  const { installs } = await remote.ask<{ installs: { install: string }[] }>('GET /installs');
  return installs.map(({ install }) => install).sort();
}
