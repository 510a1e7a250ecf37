import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { InvalidArgumentError } from 'commander';
import { AppError } from '../domain/errors.ts';
import { stripControl } from '../lib/text.ts';
import { toDurationMs } from '../lib/units.ts';
import type { Control } from '../sandbox/controls.ts';
import type { WantedFaults } from '../sandbox/faults/faults-schema.ts';
import { type CreateCommand, defineCommand, type Given } from './define-command.ts';
import {
  type Input,
  type Inputs,
  option,
  repeatedOption,
  toAmount,
  toCount,
  type ValuesOf,
  withDefault,
} from './options.ts';
import type { Session, Terminal } from './session.ts';

interface RunOptions extends FaultOptions {
  port: number;
  timeScale: number;
  seed: string | undefined;
  json: boolean;
}

/** `gangway sandbox`: runs a simulated marketplace until it is stopped. */
export async function runSandbox(options: RunOptions, { terminal }: Session): Promise<undefined> {
  const { port, timeScale, json, seed = randomUUID() } = options;
  const faults = toFaults(options);
  // Loaded here, because the help of every command loads this file.
  const { createSandbox } = await import('../sandbox/sandbox.ts');
  const sandbox = createSandbox({ port, timeScale, seed, ...(faults && { faults }) });
  const address = await sandbox.start();
  const { installId, token } = sandbox.createInstall();
  const { id: jobId, title } = sandbox.createJob({ installId });
  const lines = [
    `Sandbox marketplace on ${address.url}`,
    `  platform API  ${address.baseUrl}`,
    `  employer API  ${address.employerBaseUrl}`,
    `  seed          ${seed}`,
    `  token         ${token}`,
    `  install       ${installId}`,
    `  job           ${jobId} (${title})`,
    'Connect it, in another terminal:',
    `  gangway init --public-url http://127.0.0.1:8787 --marketplace-url ${address.url}`,
    `  GANGWAY_CONNECT_TOKEN=${token} gangway connect acme`,
    `  gangway links add street-signs --job ${jobId}`,
    '  gangway start',
    `Hire a trainer with: gangway sandbox hire --url ${address.url}`,
    `If you hire with your own account, begin with: gangway sandbox account --url ${address.url}`,
  ];
  const data = { ...address, seed, installId, token, jobId };
  terminal.stdout.write(`${json ? JSON.stringify(data) : lines.map(stripControl).join('\n')}\n`);
  if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
  await sandbox.stop();
}

export const defaultPort = 8799;
const defaultUrl = `http://127.0.0.1:${defaultPort}`;

const url = withDefault('<url>', 'Where the sandbox answers', defaultUrl, toUrl);
export const local = 'a sandbox is named with --url';

interface ControlCommand<Arguments extends Inputs, Options extends Inputs> {
  name: string;
  description: string;
  arguments?: Arguments;
  options?: Options;
  /** @returns the sandbox's answer, and the lines for people */
  act(given: Given<Arguments, Options & { url: typeof url }>, ask: Ask): Promise<[data: unknown, ...lines: string[]]>;
}

/** What a control answers. */
export type Made<Name extends keyof Control> = ReturnType<Control[Name]>;

/** Sends a request to the control at this path: with a body to change something, without one to read. */
type Ask = <T = unknown>(path: readonly string[], body?: object) => Promise<T>;

/** A command that acts as a customer or an employer at a running sandbox. */
export function control<
  Arguments extends Inputs = Record<never, never>,
  Options extends Inputs = Record<never, never>,
>({ options, act, ...declared }: ControlCommand<Arguments, Options>): CreateCommand {
  return defineCommand<Arguments, Options & { url: typeof url }>({
    ...declared,
    options: { url, ...(options as Options) },
    run:
      async () =>
      async (given, { terminal }) => {
        const [data, ...lines] = await act(given, (path, body) => askSandbox(terminal, String(given.url), path, body));
        return { data, text: () => lines.map(stripControl).join('\n') };
      },
    local,
    json: 'print the answer as JSON instead of text',
  });
}

function toUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  throw new InvalidArgumentError(`an address such as ${defaultUrl} is needed`);
}

/** Sends a request to a running sandbox: with a body to change something, without one to read. */
async function askSandbox<T>({ signal }: Terminal, at: string, path: readonly string[], body?: object): Promise<T> {
  const address = new URL(`/sandbox/${path.map(encodeURIComponent).join('/')}`, at);
  const response = await fetch(address, {
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]),
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    const message = `No sandbox answers at ${at}; start one with: gangway sandbox`;
    throw new AppError('unavailable', message, { cause: error });
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer as T;
  throw toRefusal(at, response.status, answer);
}

const answerTimeoutMs = 10_000;

function toRefusal(url: string, status: number, answer: unknown): AppError {
  if (typeof answer === 'object' && answer !== null && 'error' in answer) {
    const code = status === 404 ? 'not_found' : 'invalid';
    return new AppError(code, `The sandbox refused: ${stripControl(String(answer.error))}`);
  }
  return new AppError('unavailable', `What answers at ${url} is not a sandbox (HTTP ${status})`);
}

type FaultKind = keyof WantedFaults;

/** How often a fault happens, and how long it takes. */
interface Chance {
  probability: number;
  ms?: number;
}

const deliveryKinds = {
  lose: 'Events are never sent',
  repeat: 'Deliveries are sent again after they were taken',
  reorder: 'Events arrive after the next one',
  delay: 'Events arrive later, by up to the time that is given, e.g. 0.5:10m',
  corrupt: 'The body of an attempt is not the one that was signed',
} as const satisfies Partial<Record<FaultKind, string>>;

const apiKinds = {
  rateLimited: 'Calls are answered 429',
  serverError: 'Calls are answered 500 or 503',
  unauthenticated: 'Calls are answered 401, though the token is good',
  forbidden: 'Calls are answered 403, though the install is active',
  slow: 'Calls are answered after the time that is given, e.g. 0.5:2s',
  notJson: 'Calls are answered with a web page',
  cutOff: 'Answers end in the middle',
  empty: 'Lists are empty where there is something',
  truncated: 'Lists end after their first half',
} as const satisfies Partial<Record<FaultKind, string>>;

const kinds = Object.entries({ ...deliveryKinds, ...apiKinds }) as [FaultKind, string][];

/** The options that ask a sandbox for faults: one for each kind, and two for where and how often. */
export const faultOptions = {
  ...(Object.fromEntries(kinds.map(([kind, description]) => [kind, toFaultOption(kind, description)])) as Record<
    FaultKind,
    Input<Chance | undefined>
  >),
  operation: repeatedOption(
    '<operation>',
    'The only calls that these faults are for, e.g. "GET /contracts"; may be repeated',
  ),
  times: option('<number>', 'How often each of these faults happens at most', toCount),
};

type FaultOptions = ValuesOf<typeof faultOptions>;

function toFaultOption(kind: FaultKind, description: string): Input<Chance | undefined> {
  const isTimed = kind === 'delay' || kind === 'slow';
  return isTimed
    ? option('<probability:time>', description, toTimedChance)
    : option('<probability>', description, toChance);
}

/** @returns undefined if the command line asks for no fault */
export function toFaults(options: FaultOptions): WantedFaults | undefined {
  const { times, operation: operations } = options;
  const chosen = kinds.map(([kind]) => kind).filter((kind) => options[kind] !== undefined);
  if (chosen.length === 0 && times !== undefined) {
    throw new AppError('invalid', '--times needs a fault that it is for, e.g. --lose 0.3');
  }
  if (operations.length > 0 && !chosen.some((kind) => kind in apiKinds)) {
    throw new AppError('invalid', '--operation needs a fault of calls, e.g. --server-error 0.3');
  }
  if (chosen.length === 0) return undefined;
  const faults = chosen.map((kind) => {
    const where = kind in apiKinds && operations.length > 0 && { operations };
    return [kind, { ...options[kind], ...where, ...(times !== undefined && { times }) }];
  });
  return Object.fromEntries(faults);
}

function toChance(text: string): Chance {
  const probability = toAmount(text);
  if (probability <= 1) return { probability };
  throw new InvalidArgumentError('a probability from 0 to 1 is needed');
}

function toTimedChance(text: string): Chance {
  const [, probability = '', duration = ''] = /^([^:]+):(.+)$/.exec(text) ?? [];
  const ms = toDurationMs(duration);
  if (ms !== undefined) return { ...toChance(probability), ms };
  throw new InvalidArgumentError('a probability and a time are needed, such as 0.5:10m');
}
