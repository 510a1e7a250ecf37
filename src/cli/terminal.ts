import type { Loop } from '../lib/loop.ts';
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
