import type { ErrorCode } from '../domain/errors.ts';
import type { Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import type { Patience } from '../operator/do-work.ts';

/**
 * What a command sees of the process it runs in. stdout is data, stderr is for people; `signal` is
 * aborted when the command is asked to stop.
 */
export interface Terminal {
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  stdin: NodeJS.ReadStream;
  signal: AbortSignal;
}

export interface PrintedError {
  message: string;
  /** `usage`: the command was used wrongly; `failed`: a part of the work failed, and the rest was done. */
  code: ErrorCode | 'usage' | 'failed';
}

/** A line on stderr: with `--json`, an object. */
export function printError({ stderr }: Terminal, { message, code }: PrintedError, json: boolean): void {
  const error = maskText(message);
  stderr.write(json ? `${JSON.stringify({ error, code })}\n` : `gangway: ${error}\n`);
}

const progressEveryMs = 5000;

/** Prints a line on stderr every few seconds while work goes on. */
export function createProgress({ stderr }: Terminal): (line: string) => void {
  let printedAt = performance.now();
  return (line) => {
    if (performance.now() - printedAt < progressEveryMs) return;
    printedAt = performance.now();
    stderr.write(`${line}\n`);
  };
}

/** How long a command waits for work, what does it meanwhile, what stops the wait, and where its progress is printed. */
export function toPatience(terminal: Terminal, loops: readonly Loop[], waitMs: number): Patience {
  return { loops, waitMs, signal: terminal.signal, onProgress: createProgress(terminal) };
}
