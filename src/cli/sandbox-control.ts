import { Command, InvalidArgumentError } from 'commander';
import { AppError } from '../domain/errors.ts';
import { stripControl } from '../lib/strip-control.ts';
import type { Terminal } from './terminal.ts';

/** What the commands share that steer a sandbox that runs: how it is asked, and how it is told. */

export const defaultPort = 8799;
const defaultUrl = `http://127.0.0.1:${defaultPort}`;

interface ControlOptions {
  url: string;
  json?: true;
}

/** What to print: as data for machines, as lines for people. */
export interface Report {
  value: unknown;
  lines: string[];
}

/** @param act gets the options and, where the command has an argument, the id that it is. */
export function createControlCommand<Options = object>(
  terminal: Terminal,
  name: string,
  act: (options: ControlOptions & Options, id: string) => Promise<Report>,
): Command {
  const command = new Command(name)
    .option('--url <url>', 'where the sandbox answers', toUrl, defaultUrl)
    .option('--json', 'print the answer as JSON instead of text');
  return command.action(async () => {
    // `sandbox` has a --json of its own, and takes it wherever it stands.
    const options = command.optsWithGlobals<ControlOptions & Options>();
    const { value, lines } = await act(options, command.args[0] ?? '');
    print(terminal, options.json, value, lines);
  });
}

/** Asks a running sandbox: with a body it is told to do something, without one it only answers. */
export async function ask<T = unknown>({ signal }: Terminal, url: string, path: string, body?: object): Promise<T> {
  const response = await fetch(new URL(`/sandbox${path}`, url), {
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]),
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    const message = `No sandbox answers at ${url}; start one with: gangway sandbox`;
    throw new AppError('unavailable', message, { cause: error });
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer as T;
  throw toRefusal(url, response.status, answer);
}

const answerTimeoutMs = 10_000;

function toRefusal(url: string, status: number, answer: unknown): AppError {
  if (typeof answer === 'object' && answer !== null && 'error' in answer) {
    const code = status === 404 ? 'not_found' : 'invalid';
    return new AppError(code, `The sandbox refused: ${stripControl(String(answer.error))}`);
  }
  return new AppError('unavailable', `What answers at ${url} is not a sandbox (HTTP ${status})`);
}

export function print(terminal: Terminal, json: true | undefined, value: unknown, lines: string[]): void {
  const text = json ? JSON.stringify(value) : lines.map(stripControl).join('\n').trimEnd();
  terminal.stdout.write(`${text}\n`);
}

export function toNumber(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && Number.isFinite(number) && number >= 0) return number;
  throw new InvalidArgumentError('a number from 0 upwards is needed');
}

function toUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  throw new InvalidArgumentError(`an address such as ${defaultUrl} is needed`);
}
