import { PassThrough } from 'node:stream';
import { runCli } from '../../src/cli/cli.ts';
import type { Terminal } from '../../src/cli/session.ts';

export interface RunningCommand {
  ended: Promise<CommandResult>;
  /** What was written so far. */
  stdout(): string;
  stderr(): string;
  /** Asks it to stop, as Ctrl-C would. */
  stop(): void;
}

export interface CommandResult {
  status: number;
  stdout: string;
  stderr: string;
}

/** The command line in this process, with streams in memory. */
export function startCommand(...argv: string[]): RunningCommand {
  return startAt(createStdin(), ...argv);
}

/** The same, with a stdin that the test writes to. */
export function startAt(stdin: PassThrough, ...argv: string[]): RunningCommand {
  return startWith({ stdin, isWatched: false }, argv);
}

/** The same, with a terminal as stderr: a person reads along. */
export function startWatched(...argv: string[]): RunningCommand {
  return startWith({ stdin: createStdin(), isWatched: true }, argv);
}

function startWith({ stdin, isWatched }: { stdin: PassThrough; isWatched: boolean }, argv: string[]): RunningCommand {
  const [stdout, stderr] = [collect(), collect()];
  const stopping = new AbortController();
  const terminal: Terminal = {
    stdout: stdout.stream,
    stderr: Object.assign(stderr.stream, { isTTY: isWatched }),
    stdin: stdin as unknown as NodeJS.ReadStream,
    signal: stopping.signal,
  };
  return {
    ended: runCli(argv, terminal).then((status) => ({ status, stdout: stdout.text(), stderr: stderr.text() })),
    stdout: stdout.text,
    stderr: stderr.text,
    stop: () => stopping.abort(),
  };
}

export async function runCommand(...argv: string[]): Promise<CommandResult> {
  return await startCommand(...argv).ended;
}

/** A stdin that is closed, or, if there are lines, a terminal at which they are typed. */
export function createStdin(...typed: string[]): PassThrough {
  const stdin = Object.assign(new PassThrough(), { isTTY: typed.length > 0 });
  if (typed.length === 0) stdin.end();
  for (const line of typed) stdin.write(`${line}\n`);
  return stdin;
}

function collect() {
  const chunks: string[] = [];
  const stream = new PassThrough();
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  return {
    stream,
    /** Also what the stream has taken and not yet handed on. */
    text: () => chunks.join('') + (stream.read()?.toString() ?? ''),
  };
}
