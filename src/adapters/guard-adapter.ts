import { AppError } from '../domain/errors.ts';
import type { Adapter } from './adapter.ts';
import { wrapCalls } from './adapter-schema.ts';

/**
 * Wraps a custom adapter: checks its answers against the port, and keeps only the type and the line of its errors,
 * because their text may contain secrets.
 */
export function guardAdapter(adapter: Adapter): Adapter {
  return wrapCalls(adapter, (call, name, { answers, answer }) => {
    function toChecked(value: unknown): unknown {
      if (answer === undefined) return value;
      const { data, error } = answer.safeParse(value);
      if (error === undefined) return data;
      throw new AppError('internal', `The adapter's ${name} answered ${error.issues[0]?.message}`);
    }

    function now(argument: unknown): unknown {
      try {
        return toChecked(call(argument));
      } catch (error) {
        throw toGuarded(error, name);
      }
    }

    async function later(...args: unknown[]): Promise<unknown> {
      const signal = args.at(-1) as AbortSignal;
      try {
        signal.throwIfAborted();
        return toChecked(await call(...args));
      } catch (error) {
        throw toGuarded(error, name, signal);
      }
    }

    async function* each(...args: unknown[]): AsyncGenerator<unknown> {
      const signal = args.at(-1) as AbortSignal;
      try {
        signal.throwIfAborted();
        for await (const item of call(...args)) yield toChecked(item);
      } catch (error) {
        throw toGuarded(error, name, signal);
      }
    }

    return { now, later, each }[answers];
  });
}

/** The cause is not kept, because a log would show it. */
export function toGuarded(error: unknown, what: string, signal?: AbortSignal): AppError {
  if (error instanceof AppError) return error;
  if (signal?.aborted) return new AppError('unavailable', `The adapter's ${what} was given up`);
  return new AppError('internal', `The adapter's ${what} failed: ${describe(error)}`);
}

const longestStack = 4000;

/** `TypeError at my-tool.ts:23`: without the message, and with one line of the stack. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'it threw no error';
  const name = /^\w{1,40}$/.test(error.name) ? error.name : 'Error';
  const stack = String(error.stack);
  const header = stack.indexOf(error.message) + error.message.length;
  const [, line] = /([\w.-]{1,80}:\d+):\d+\)?\s*$/m.exec(stack.slice(header, header + longestStack)) ?? [];
  return line === undefined ? name : `${name} at ${line}`;
}
