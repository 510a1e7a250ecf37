import { stripControl } from '../lib/text.ts';
import type { ExitStatus, Operation } from '../operations/operation.ts';
import { formatList, toCsv, withoutMilliseconds } from '../operations/text-table.ts';
import { printError, type Terminal } from './terminal.ts';

export type Output = 'table' | 'csv' | 'json';

/** @returns the status that the command ends with */
export function printAnswer(
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

/** Nothing that a stranger wrote can break a line, move the cursor or colour the terminal. */
function stripAll(value: unknown): unknown {
  if (typeof value === 'string') return stripControl(value);
  if (Array.isArray(value)) return value.map(stripAll);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, stripAll(one)]));
}
