import { maskText } from '../lib/mask.ts';
import { stripControl } from '../lib/strip-control.ts';
import { writeCsv } from '../lib/write-csv.ts';
import type { ExitStatus, Operation } from '../operations/operation.ts';
import type { TableShow } from '../operations/show.ts';
import { formatList, withoutMilliseconds } from '../operations/text-table.ts';
import type { Terminal } from './terminal.ts';

export type Output = 'table' | 'csv' | 'json';

/** @returns the status that the command ends with */
export function printAnswer(
  { stdout, stderr }: Terminal,
  { show, problems, status }: Operation,
  answered: object,
  output: Output,
  input: object,
): ExitStatus {
  if (output === 'json') {
    stdout.write(`${JSON.stringify(answered)}\n`);
    return status(answered, input);
  }
  const answer = stripAll(answered) as object;
  if (typeof show === 'function') stdout.write(`${withoutMilliseconds(show(answer))}\n`);
  else if ('bytes' in show) stdout.write(show.bytes(answer));
  else stdout.write(output === 'csv' ? toCsv(show, answer) : `${toTable(show, answer)}\n`);
  for (const problem of problems(answer)) stderr.write(`gangway: ${maskText(problem)}\n`);
  return status(answer, input);
}

function toTable({ rowsOf, columns, whenEmpty }: TableShow<object>, answer: object): string {
  return formatList(rowsOf(answer), columns, whenEmpty);
}

function toCsv({ rowsOf, columns }: TableShow<object>, answer: object): string {
  const rows = rowsOf(answer).map((row) => columns.map(([, cell]) => toText(cell(row))));
  return writeCsv([columns.map(([title]) => title), ...rows]);
}

function toText(cell: string | number | null | undefined): string | null {
  return cell == null ? null : String(cell);
}

/** Nothing that a stranger wrote can break a line, move the cursor or colour the terminal. */
function stripAll(value: unknown): unknown {
  if (typeof value === 'string') return stripControl(value);
  if (Array.isArray(value)) return value.map(stripAll);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, stripAll(one)]));
}
