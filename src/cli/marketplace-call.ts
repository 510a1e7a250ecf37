import { createWriteStream, existsSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Config } from '../config/config-schema.ts';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import type { Install } from '../domain/install.ts';
import { loadInstalls } from '../installs/load-installs.ts';
import { currentToken } from '../installs/replaced-token-store.ts';
import { stripControl } from '../lib/text.ts';
import { type Client, createClient, previewRequest } from '../marketplace/client.ts';
import { type Approval, approvals } from '../marketplace/contract/contracts.ts';
import { fieldsOfPath, methodOf, type Operation } from '../marketplace/contract/operation.ts';
import { refusals } from '../marketplace/contract/refusals.ts';
import { approvalIn, followApproval, sayWaiting } from '../marketplace/follow-approval.ts';
import { detailsOf, reasonOf } from '../marketplace/refusal.ts';
import { fieldColumns, record } from '../operations/show.ts';
import { formatList, withoutMilliseconds } from '../operations/text-table.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';
import { askYesNo } from './ask.ts';
import { Ending } from './define-command.ts';
import { pickInstall, stripAll } from './operation-commands.ts';
import { printError, type Session } from './session.ts';
import { decidedBy, loadCommandConfig, withStorage } from './with-storage.ts';

/** One call of an operation, whose line and input were checked. */
interface Call {
  session: Session;
  operation: Operation;
  input: Fields;
  line: CallOptions;
}

type Fields = Record<string, unknown>;

/** The options of a call besides the fields of its input. `wait` is in milliseconds. */
export type CallOptions = Partial<
  Record<'install' | 'input' | 'output', string> &
    Record<'all' | 'showSecret' | 'yes' | 'dryRun' | 'json', boolean> &
    Record<'wait', number>
>;

/** Calls an operation with the token of an install, and prints the answer. With `--dry-run`, it prints the request. */
export async function callMarketplace(call: Call): Promise<void> {
  const { session, operation, input, line } = call;
  const { api, credential } = operation;
  const baseUrlIn = ({ marketplace: { baseUrl, employerBaseUrl } }: Config) =>
    api === 'platform' ? baseUrl : employerBaseUrl;
  if (line.dryRun || credential === 'none' || credential === 'claim') {
    const baseUrl = baseUrlIn(loadCommandConfig(session, []).config);
    if (line.dryRun) return printAnswer(call, previewRequest(baseUrl, operation, input));
    await confirm(call);
    return await send(call, createClient({ baseUrl, token: '' }));
  }
  const uses = [line.install === undefined ? 'installs' : `installs.${line.install}`];
  await withStorage(session, { uses, isDry: true }, async ({ storage, config }) => {
    const installs = await loadInstalls(storage, config);
    const install = pickFitting(call, installs);
    const token = async () => await currentToken(storage, installs.get(install)?.token ?? '');
    const client = createClient({ baseUrl: baseUrlIn(config), token });
    await confirm(call);
    if (methodOf(operation) === 'GET') return await send(call, client);
    const subject = [install, ...fieldsOfPath(operation).map((field) => input[field])].join('/');
    const inOne = <T>(work: (tx: Transaction) => Promise<T>) => inTransaction(storage.database, work);
    // It is written before the call, because the answer may be lost.
    await inOne((tx) => writeAudit(tx, decidedBy(), `marketplace ${operation.id}`, subject));
    try {
      await send(call, client);
    } finally {
      // The act may have started or ended a contract.
      await inOne((tx) => wantRead(tx, [install], decidedBy().at));
    }
  });
}

/** @returns the name of the install whose token is used */
function pickFitting({ session, operation, line }: Call, installs: ReadonlyMap<string, Install>): string {
  const isForPlatforms = operation.credential === 'platform';
  const fits = (name: string) => (installs.get(name)?.source === 'platform') === isForPlatforms;
  const fitting = [...installs.keys()].filter(fits).sort();
  const isOfOtherKind = line.install !== undefined && installs.has(line.install) && !fits(line.install);
  if (fitting.length > 0 && !isOfOtherKind) return pickInstall(session, fitting, line.install);
  const needed = isForPlatforms ? "the install of a platform's customer" : 'the install of an account of your own';
  const connect = `gangway connect <name>${isForPlatforms ? '' : ' --employer'}`;
  return session.misuse(`it needs ${needed}: ${fitting.join(', ') || connect}`);
}

async function send(call: Call, client: Client): Promise<void> {
  const { session, operation, input } = call;
  try {
    if (operation.isFile) await saveFile(call, client.download(operation, input, session.terminal.signal));
    else await settle(call, client, await ask(call, client));
  } catch (error) {
    printRefusal(call, error);
  }
}

async function confirm({ session, operation, input, line }: Call): Promise<void> {
  const { terminal } = session;
  if (!operation.isFinal || line.yes) return;
  if (terminal.stdin.isTTY !== true) session.misuse('there is no terminal to confirm it at: --yes confirms it');
  const ids = fieldsOfPath(operation).map((field) => stripControl(String(input[field])));
  if (await askYesNo(terminal, `This will ${operation.purpose} at the marketplace: ${ids.join(', ')}. Go on?`)) return;
  throw new AppError('conflict', 'Nothing was sent, because it was not confirmed');
}

/** The answer as it came; of all pages, the last one with the records of all. */
async function ask({ session, operation, input, line }: Call, client: Client): Promise<unknown> {
  const { signal } = session.terminal;
  const { pages = '', purpose } = operation;
  if (!line.all) return await client.callRaw(operation, input, signal);
  const records: unknown[] = [];
  for (let { cursor } = input; ; ) {
    const page: Fields = Object(await client.callRaw(operation, { ...input, cursor }, signal));
    records.push(...[page[pages] ?? []].flat());
    const { nextCursor, hasMore } = page;
    // The cursor of a feed also leads to what has not happened yet.
    if (!nextCursor || hasMore === false) return { ...page, [pages]: records };
    if (nextCursor === cursor) throw new AppError('unavailable', `Could not ${purpose}: a page came twice`);
    cursor = nextCursor;
  }
}

const statuses = { confirmed: 0, declined: 1, expired: 1, pending: 2 } as const;

/** Prints the answer, and where a person has to go on; waits for the person if that was asked for. */
async function settle(call: Call, client: Client, answer: unknown): Promise<void> {
  const { terminal } = call.session;
  const { wait } = call.line;
  const approval = approvalIn(answer);
  if (approval?.status === 'pending') terminal.stderr.write(`${stripControl(sayWaiting(approval))}\n`);
  if (approval === undefined || wait === undefined) return printAnswer(call, answer);
  const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(wait)]);
  const read = async ({ id: approvalId }: Approval) =>
    approvalIn(await client.callRaw(approvals.get, { approvalId }, signal));
  const decided = await followApproval(approval, read, signal);
  printAnswer(call, { ...Object(answer), approval: decided });
  if (statuses[decided.status] !== 0) throw new Ending(statuses[decided.status]);
}

/** Writes a new file under another name, and renames it when it is complete and its hash is right. */
async function saveFile({ session, line }: Call, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const { output: file } = line;
  const { stdout, signal } = session.terminal;
  if (file === undefined) return void stdout.write(await buffer(bytes));
  const taken = new AppError('conflict', `${file} is already there`);
  if (existsSync(file)) throw taken;
  const draft = `${file}.${process.pid}.tmp`;
  try {
    await pipeline(bytes, createWriteStream(draft, { flags: 'wx', mode: 0o600 }));
    // Unlike a rename, it replaces no file that came meanwhile.
    await link(draft, file);
    if (line.json) stdout.write(`${JSON.stringify({ file })}\n`);
  } catch (error) {
    if (error instanceof AppError || signal.aborted) throw error;
    throw existsSync(file) ? taken : new AppError('invalid', `${file} cannot be written`, { cause: error });
  } finally {
    await rm(draft, { force: true });
  }
}

/** A list as a table of its simple fields; a record as a line for each field; with `--json` as it came. */
function printAnswer({ session: { terminal }, operation: { pages = '' }, line }: Call, answer: unknown): void {
  const { stdout, stderr } = terminal;
  if (line.json) return void stdout.write(`${JSON.stringify(answer ?? null)}\n`);
  const { [pages]: list, nextCursor, hasMore }: Fields = Object(answer);
  if (!Array.isArray(list)) return void stdout.write(`${toLines(answer)}\n`);
  const rows = list.map(toRow);
  const columns = fieldColumns(...new Set(rows.flatMap(Object.keys)));
  stdout.write(`${formatList(rows, columns, `There are no ${pages}`)}\n`);
  const more = `There is more: --all, or --cursor ${nextCursor}`;
  if (nextCursor && hasMore !== false) stderr.write(`${stripControl(more)}\n`);
}

function toRow(one: unknown): Record<string, string> {
  const fields = Object.entries(Object(one)).filter(([, value]) => isSimple(value));
  return Object.fromEntries(fields.map(([name, value]) => [name, String(value ?? '')]));
}

function isSimple(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function toLines(answer: unknown): string {
  const fields = Object.fromEntries(flatten(stripAll(answer)));
  return withoutMilliseconds(Object.keys(fields).length > 0 ? record(fields) : 'done');
}

/** Each simple value, and each list of them, by its path. */
function flatten(value: unknown, path: string[] = []): [path: string, value: unknown][] {
  if (isSimple(value)) return path.length > 0 ? [[path.join('.'), value]] : [];
  if (Array.isArray(value) && value.every(isSimple)) return [[path.join('.'), value.join(', ') || null]];
  return Object.entries(Object(value)).flatMap(([name, one]) => flatten(one, [...path, stripControl(name)]));
}

/** Tells a refusal with what to do about it. @throws whatever is no refusal */
function printRefusal({ session: { terminal }, line: { json = false } }: Call, thrown: unknown): never {
  const [reason, details] = [reasonOf(thrown), detailsOf(thrown)];
  if (reason === undefined && details === undefined) throw thrown;
  const { message, code } = toAppError(thrown);
  const remedy = reason === undefined ? '' : `. ${refusals[reason][2]}`;
  printError(terminal, { message: `${message}${remedy}`, code, details }, json);
  if (!json && details !== undefined) terminal.stderr.write(`${toLines(details)}\n`);
  throw new Ending(1);
}
