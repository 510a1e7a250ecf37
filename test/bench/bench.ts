import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** What the benchmarks share: options, processes, and how they print. */

export const databaseOptions = {
  postgres: { type: 'boolean', default: false },
  /** The databases are made below it, because what is measured depends on its disk. */
  folder: { type: 'string', default: '.' },
} as const;

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/**
 * Prints the head of a table whose columns are as wide as their titles.
 *
 * @returns what prints a row
 */
export function startTable(nameWidth: number, titles: readonly string[]) {
  const print = (name: string, cells: readonly string[]) => {
    const padded = cells.map((cell, index) => cell.padStart((titles[index]?.length ?? 0) + 3));
    say(`${name.padEnd(nameWidth)}${padded.join('')}`);
  };
  print('', titles);
  return print;
}

export function toSeconds(ms: number, digits = 1): string {
  return (ms / 1000).toFixed(digits);
}

/** Starts a script of this folder, which prints only to stderr. */
export function forkScript(file: string, args: readonly string[] = []): ChildProcess {
  return fork(path.join(import.meta.dirname, file), args, { stdio: ['ignore', 2, 2, 'ipc'] });
}

/** @throws Error if the process ends before it answers */
export async function ask<T>(child: ChildProcess, order: object | string): Promise<T> {
  const answered = new AbortController();
  const ended = once(child, 'exit', answered).then(() => {
    throw new Error('A process of the benchmark ended before it answered');
  });
  const answer = once(child, 'message');
  child.send(order);
  const [said] = (await Promise.race([answer, ended]).finally(() => answered.abort())) as [T];
  return said;
}
