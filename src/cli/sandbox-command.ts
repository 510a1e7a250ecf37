import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { InvalidArgumentError } from 'commander';
import { parseJson } from '../config/read-file.ts';
import { AppError } from '../domain/errors.ts';
import { stripControl } from '../lib/text.ts';
import type { Control } from '../sandbox/controls.ts';
import type { WantedFaults } from '../sandbox/faults/faults-schema.ts';
import { type CreateCommand, defineCommand, type Given } from './define-command.ts';
import { type GivenOf, type Inputs, option, toAmount, toWholeNumber, withDefault } from './options.ts';
import type { Session, Terminal } from './session.ts';

/** `gangway sandbox`: runs a simulated marketplace until it is stopped. */
export async function runSandbox(options: GivenOf<typeof runOptions>, { terminal }: Session): Promise<undefined> {
  const { port, timeScale, json, seed = randomUUID() } = options;
  const faults = options.faults === undefined ? undefined : (parseJson(options.faults) as WantedFaults);
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

const defaultPort = 8799;
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

/** What a sandbox does wrong, as its schema has it (`src/sandbox/faults/faults-schema.ts`). */
export const faultsHelp = `What goes wrong, as JSON: a probability, or an object with times, ms or operations, such as
{"lose":0.3,"delay":{"probability":0.5,"ms":600000},"serverError":{"probability":1,"operations":["GET /contracts"]}}.
Of deliveries: lose, repeat, reorder, delay, corrupt; of calls: rateLimited, serverError, unauthenticated, forbidden,
slow, notJson, cutOff, empty, truncated`;

export const runOptions = {
  port: withDefault('<port>', 'The port to listen on, 0 for a free one', defaultPort, (text) =>
    toWholeNumber(text, 0, 65_535),
  ),
  timeScale: withDefault(
    '<factor>',
    'How much faster than real time it waits between attempts to deliver; 0 stands still',
    1,
    toAmount,
  ),
  seed: option('<text>', 'Decides every id, token and fault (default: a random one)'),
  faults: option('<json>', faultsHelp),
};
