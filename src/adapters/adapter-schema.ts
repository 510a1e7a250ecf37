import { z } from 'zod';
import type { Adapter } from './adapter.ts';

/** What a custom adapter must have, and what its calls must answer. */

interface CallRule {
  isOptional?: boolean;
  /** `now` is a plain value, `later` a promise, `each` an async iterable. */
  answers: 'now' | 'later' | 'each';
  /** The answer, or each item of it. Anything is accepted without it. */
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
/** Not a copy: an adapter may return an object of a class. */
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

// biome-ignore lint/suspicious/noExplicitAny: the calls of the port take and answer different things.
export type AdapterCall = (...args: any[]) => any;

/** The adapter with each of its calls as `wrap` makes it. The signal is the last argument of every call that waits. */
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
