import { AppError } from '../domain/errors.ts';
import type { Adapter } from './adapter.ts';
import { type CallRule, callRules } from './adapter-schema.ts';

// biome-ignore lint/suspicious/noExplicitAny: what code of others takes and answers is not known.
type ForeignCall = (...args: any[]) => any;

interface Guarded {
  name: string;
  call: ForeignCall;
  answer: CallRule['answer'];
}

/**
 * An adapter that others wrote. Its answers are checked against the port. Of its errors only the line
 * of the code is kept, because their text may contain secrets.
 */
export function guardAdapter(adapter: Adapter): Adapter {
  const calls = callRules.flatMap(([name, { answers, answer }]) => {
    const call = adapter[name as keyof Adapter] as ForeignCall | undefined;
    return call === undefined ? [] : [[name, guards[answers]({ name, call: call.bind(adapter), answer })]];
  });
  return { ...Object.fromEntries(calls), capabilities: adapter.capabilities };
}

/** A signal is the last argument of every call that waits. */
const guards: Record<CallRule['answers'], (guarded: Guarded) => ForeignCall> = {
  now: (guarded) => (argument) => {
    try {
      return toChecked(guarded, guarded.call(argument));
    } catch (error) {
      throw toGuarded(error, guarded.name);
    }
  },

  later:
    (guarded) =>
    async (...args) => {
      const signal = args.at(-1) as AbortSignal;
      try {
        signal.throwIfAborted();
        return toChecked(guarded, await guarded.call(...args));
      } catch (error) {
        throw toGuarded(error, guarded.name, signal);
      }
    },

  each: (guarded) =>
    async function* (...args) {
      const signal = args.at(-1) as AbortSignal;
      try {
        signal.throwIfAborted();
        for await (const item of guarded.call(...args)) yield toChecked(guarded, item);
      } catch (error) {
        throw toGuarded(error, guarded.name, signal);
      }
    },
};

function toChecked({ name, answer }: Guarded, value: unknown): unknown {
  if (answer === undefined) return value;
  const { data, error } = answer.safeParse(value);
  if (error === undefined) return data;
  throw new AppError('internal', `The adapter's ${name} answered ${error.issues[0]?.message}`);
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
