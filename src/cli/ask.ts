import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { AppError } from '../domain/errors.ts';
import { unlessAborted } from '../lib/clock.ts';
import type { Terminal } from './session.ts';

/** Reads one line, also from a pipe, without showing what is typed. Questions go to stderr, because stdout is data. */
export async function askSecret(terminal: Terminal, question: string): Promise<string> {
  const { stdin, stderr, signal } = terminal;
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const isTyped = stdin.isTTY === true;
  if (isTyped) stderr.write(question);
  const lines = createInterface({ input: stdin, output: unseen, terminal: isTyped });
  try {
    const line = await firstLine(lines, signal);
    if (isTyped) stderr.write('\n');
    return line.trim();
  } finally {
    lines.close();
  }
}

/** @returns false if stdin is no terminal */
export async function askYesNo(terminal: Terminal, question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await askTyped(terminal, `${question} [y/N]`)) ?? '');
}

/** @returns what was typed; undefined if stdin is no terminal */
export async function askTyped({ stdin, stderr, signal }: Terminal, question: string): Promise<string | undefined> {
  if (stdin.isTTY !== true) return undefined;
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    return (await lines.question(`${question} `, { signal })).trim();
  } finally {
    lines.close();
  }
}

/** @returns the index of the choice; undefined if stdin is no terminal */
export async function choose(
  terminal: Terminal,
  question: string,
  choices: readonly string[],
): Promise<number | undefined> {
  const { stdin, stderr, signal } = terminal;
  if (stdin.isTTY !== true) return undefined;
  const listed = choices.map((choice, index) => `  ${index + 1}  ${choice}\n`).join('');
  const lines = createInterface({ input: stdin, output: stderr, signal });
  stderr.write(`${question}\n${listed}Which? [1] `);
  for await (const line of lines) {
    const picked = line.trim() === '' ? 1 : Number(line);
    if (Number.isInteger(picked) && picked >= 1 && picked <= choices.length) return picked - 1;
    stderr.write(`A number from 1 to ${choices.length}: `);
  }
  throw toStopped();
}

function toStopped(): AppError {
  return new AppError('invalid', 'Stopped before it was answered');
}

async function firstLine(lines: AsyncIterable<string>, signal: AbortSignal): Promise<string> {
  const read = lines[Symbol.asyncIterator]().next();
  const { done, value } = await unlessAborted(read, signal, toStopped);
  return done ? '' : value;
}
