import { styleText } from 'node:util';
import { stripControl } from './text.ts';

export type LogStream = NodeJS.WritableStream & { isTTY?: boolean };

/** Where a logger writes its JSON lines. `auto` turns them into text for a person at a terminal. */
export function toLogDestination(format: 'auto' | 'json' | 'text', stream: LogStream): { write(line: string): void } {
  const isText = format === 'text' || (format === 'auto' && stream.isTTY === true);
  if (!isText) return stream;
  // The line of the terminal may show the progress of a command.
  const start = stream.isTTY === true ? eraseLine : '';
  return { write: (line) => void stream.write(`${start}${toReadable(line, stream)}\n`) };
}

export const eraseLine = '\r\u001b[K';

const colors = { warn: 'yellow', error: 'red', fatal: 'red' } as const;

function toReadable(line: string, stream: LogStream): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const paint = (format: Parameters<typeof styleText>[0], text: string) =>
    text && styleText(format, text, { stream: stream as NodeJS.WritableStream });
  const [says, stack] = describeError(err);
  const details = Object.entries(fields).map(([name, value]) => `${name}=${toText(value)}`);
  return [
    paint('dim', new Date(String(time)).toTimeString().slice(0, 8)),
    paint(colors[level as keyof typeof colors] ?? 'dim', String(level).padEnd(5)),
    stripControl([String(msg ?? ''), ...says].join(': ')),
    ...(details.length > 0 ? [paint('dim', stripControl(details.join(' ')))] : []),
    ...stack.map((one) => `\n    ${stripControl(one.trim())}`),
  ].join(' ');
}

function toText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value);
}

interface LoggedError {
  message?: string;
  stack?: string;
  cause?: LoggedError;
}

/** The messages of the error and its causes, and the lines of the first stack. */
function describeError(err: unknown): [says: string[], stack: string[]] {
  if (typeof err !== 'object' || err === null) return [[], []];
  const { message = '', stack, cause } = err as LoggedError;
  const [says, deeper] = describeError(cause);
  return [[message, ...says], stack === undefined ? deeper : stack.split('\n').filter((one) => /^\s+at /.test(one))];
}
