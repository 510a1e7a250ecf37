import { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import type { Adapter } from './adapter.ts';

interface CallRule {
  isOptional?: boolean;
  /** `now`: a plain value; `later`: a promise; `each`: an async iterable. */
  answers: 'now' | 'later' | 'each';
  /** The answer, or each item of it. Without it, anything is accepted. */
  answer?: z.ZodType;
}

function filledText(fault: string) {
  return z.string(fault).refine((value) => value.trim() !== '', fault);
}

const MemberFields = z.object(
  {
    id: filledText('a member whose id is not a text'),
    email: z.string('a member whose email is neither a text nor null').nullable(),
  },
  'no member',
);
/** Checks without a copy, because an adapter may return an object of a class. */
const member = z.unknown().superRefine((value, context) => {
  for (const { message } of MemberFields.safeParse(value).error?.issues ?? []) context.addIssue(message);
});
const text = z.string('no text');
const textOrNull = z.string('neither a text nor null').nullable();

const adapterCalls = {
  check: { answers: 'later', answer: z.array(z.unknown()).catch([]) },
  groupFor: { answers: 'now', answer: text },
  findMember: { answers: 'later', answer: member.nullable() },
  addMember: { answers: 'later', answer: member },
  removeMember: { answers: 'later' },
  identify: { isOptional: true, answers: 'later', answer: textOrNull },
  findAccount: { isOptional: true, answers: 'later', answer: member.nullable() },
  findAccountById: { isOptional: true, answers: 'later', answer: member.nullable() },
  canonicalGroup: { isOptional: true, answers: 'now', answer: textOrNull },
  endAssignments: { isOptional: true, answers: 'later' },
  removeAccount: { isOptional: true, answers: 'later' },
  updateEmail: { isOptional: true, answers: 'later' },
  listMembers: { isOptional: true, answers: 'each', answer: member },
  listNewcomers: { isOptional: true, answers: 'each', answer: member },
  renewInvitation: { isOptional: true, answers: 'later' },
  resetInvitations: { isOptional: true, answers: 'later' },
  usageScopeFor: { isOptional: true, answers: 'now' },
  readUsage: { isOptional: true, answers: 'each' },
  readGuidelines: { isOptional: true, answers: 'later', answer: text },
  writeGuidelines: { isOptional: true, answers: 'later' },
} satisfies Record<Exclude<keyof Adapter, 'capabilities'>, CallRule>;

const callRules: readonly [name: string, rule: CallRule][] = Object.entries(adapterCalls);

// biome-ignore lint/suspicious/noExplicitAny: the calls of the port have different arguments and answers.
type AdapterCall = (...args: any[]) => any;

/** The adapter with all of its calls wrapped. The signal is the last argument of every call that waits. */
export function wrapCalls(
  adapter: Adapter,
  wrap: (call: AdapterCall, name: string, rule: CallRule) => AdapterCall,
): Adapter {
  const calls = callRules.flatMap(([name, rule]) => {
    const call = adapter[name as keyof Adapter] as AdapterCall | undefined;
    return call === undefined ? [] : [[name, wrap(call.bind(adapter), name, rule)]];
  });
  return { ...Object.fromEntries(calls), capabilities: adapter.capabilities };
}

const removalFault = 'no capabilities.removal: {effect: "locks_out"} or {effect: "membership_only", reason: "…"}';

const Capabilities = z.object(
  {
    removal: z.discriminatedUnion(
      'effect',
      [
        z.object({ effect: z.literal('locks_out') }),
        z.object({ effect: z.literal('membership_only'), reason: filledText(removalFault) }),
      ],
      removalFault,
    ),
    readding: z.enum(['yes', 'new_account', 'no'], 'no capabilities.readding: "yes", "new_account" or "no"'),
    exclusive: z.enum(['membership', 'group', 'tool'], 'no capabilities.exclusive: "membership", "group" or "tool"'),
  },
  'no capabilities',
);

const AdapterShape = z.object(
  {
    ...Object.fromEntries(
      callRules.map(([name, { isOptional }]) => [
        name,
        isOptional ? callable(`${name} is not a function`).optional() : callable(`no ${name}()`),
      ]),
    ),
    capabilities: Capabilities,
  },
  'it makes no object',
);

function callable(fault: string) {
  return z.custom((value) => typeof value === 'function', fault);
}

/** What is missing or wrong; empty for an adapter. */
export function adapterFaults(value: unknown): string[] {
  return AdapterShape.safeParse(value).error?.issues.map(({ message }) => message) ?? [];
}

/** Wraps a custom adapter. Checks its answers, and keeps only the type and line of its errors: their text may have secrets. */
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

/** Without the cause, because a log would show it. */
export function toGuarded(error: unknown, what: string, signal?: AbortSignal): AppError {
  if (error instanceof AppError) return error;
  if (signal?.aborted) return new AppError('unavailable', `The adapter's ${what} was given up`);
  return new AppError('internal', `The adapter's ${what} failed: ${describe(error)}`);
}

const longestStack = 4000;

/** `TypeError at my-tool.ts:23`, without the message. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'it threw something other than an error';
  const name = /^\w{1,40}$/.test(error.name) ? error.name : 'Error';
  const stack = String(error.stack);
  const header = stack.indexOf(error.message) + error.message.length;
  const [, line] = /([\w.-]{1,80}:\d+):\d+\)?\s*$/m.exec(stack.slice(header, header + longestStack)) ?? [];
  return line === undefined ? name : `${name} at ${line}`;
}
