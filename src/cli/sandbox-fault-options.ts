import { InvalidArgumentError } from 'commander';
import { AppError } from '../domain/errors.ts';
import type { WantedFaults } from '../sandbox/faults/faults-schema.ts';
import { type Input, option, repeatedOption, toAmount, toCount, type ValuesOf } from './options.ts';

/** The options that ask a sandbox for faults: what goes wrong, how often, and where. */

type FaultKind = keyof WantedFaults;
interface Chance {
  probability: number;
  ms?: number;
}

const deliveryKinds = {
  lose: 'Events are never sent',
  repeat: 'Deliveries are sent again after they were taken',
  reorder: 'Events arrive after the next one',
  delay: 'Events arrive later, by up to the time that is given, e.g. 0.5:10m',
  corrupt: 'The body of an attempt is not the one that was signed',
} as const satisfies Partial<Record<FaultKind, string>>;

const apiKinds = {
  rateLimited: 'Calls are answered 429',
  serverError: 'Calls are answered 500 or 503',
  unauthenticated: 'Calls are answered 401, though the token is good',
  forbidden: 'Calls are answered 403, though the install is active',
  slow: 'Calls are answered after the time that is given, e.g. 0.5:2s',
  notJson: 'Calls are answered with a web page',
  cutOff: 'Answers end in the middle',
  empty: 'Lists are empty where there is something',
  truncated: 'Lists end after their first half',
} as const satisfies Partial<Record<FaultKind, string>>;

const kinds = Object.entries({ ...deliveryKinds, ...apiKinds }) as [FaultKind, string][];

/** One option for each kind of fault, and two for where and how often. */
export const faultOptions = {
  ...(Object.fromEntries(kinds.map(([kind, description]) => [kind, toFaultOption(kind, description)])) as Record<
    FaultKind,
    Input<Chance | undefined>
  >),
  operation: repeatedOption(
    '<operation>',
    'The only calls that these faults are for, e.g. "GET /contracts"; may be repeated',
  ),
  times: option('<number>', 'How often each of these faults happens at most', toCount),
};

export type FaultOptions = ValuesOf<typeof faultOptions>;

function toFaultOption(kind: FaultKind, description: string): Input<Chance | undefined> {
  const isTimed = kind === 'delay' || kind === 'slow';
  return isTimed
    ? option('<probability:time>', description, toTimedChance)
    : option('<probability>', description, toChance);
}

/** @returns undefined if the command line asks for no fault */
export function toFaults(options: FaultOptions): WantedFaults | undefined {
  const asked = kinds.flatMap(([kind]) => {
    const chance = options[kind];
    return chance === undefined ? [] : [{ kind, chance }];
  });
  const { times, operation: operations } = options;
  if (asked.length === 0 && times !== undefined) {
    throw new AppError('invalid', '--times needs a fault that it is for, e.g. --lose 0.3');
  }
  if (operations.length > 0 && !asked.some(({ kind }) => kind in apiKinds)) {
    throw new AppError('invalid', '--operation needs a fault of calls, e.g. --server-error 0.3');
  }
  if (asked.length === 0) return undefined;
  const faults = asked.map(({ kind, chance }) => {
    const isOfCalls = kind in apiKinds;
    const where = isOfCalls && operations.length > 0 ? { operations } : {};
    return [kind, { ...chance, ...where, ...(times !== undefined && { times }) }];
  });
  return Object.fromEntries(faults);
}

function toChance(text: string): Chance {
  const probability = toAmount(text);
  if (probability <= 1) return { probability };
  throw new InvalidArgumentError('a probability from 0 to 1 is needed');
}

const unitsMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function toTimedChance(text: string): Chance {
  const [, probability = '', amount = '', unit = ''] = /^([^:]+):(\d+)(ms|s|m|h)$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (unitMs !== undefined) return { ...toChance(probability), ms: Number(amount) * unitMs };
  throw new InvalidArgumentError('a probability and a time are needed, such as 0.5:10m');
}
