import { z } from 'zod';
import { toAppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import { stripControl } from '../lib/text.ts';
import { paint } from '../lib/tone.ts';
import type { Columns } from './show.ts';

/** The result of one check. */
export const Check = z
  .object({
    name: z.string(),
    status: z.enum(['ok', 'warning', 'failure']),
    says: z.string(),
    action: z.string().nullable().describe('What to do; null if there is nothing to do.'),
  })
  .meta({ id: 'Check' });

/** The name is unique among all checks, `says` is one sentence, and `action` is an imperative. */
export type Check = z.output<typeof Check>;

export const checkColumns: Columns<Check> = [
  ['result', ({ status }) => status, { as: 'state' }],
  ['what', ({ name }) => name],
  ['found', ({ says }) => says],
  ['to do', ({ action }) => action],
];

export function ok(name: string, says: string): Check {
  return { name, status: 'ok', says, action: null };
}

export function warning(name: string, says: string, action: string): Check {
  return { name, status: 'warning', says, action };
}

export function failure(name: string, error: unknown, action: string): Check {
  return { name, status: 'failure', says: maskText(toAppError(error).message), action };
}

/** Numbers checks with equal names. */
export function nameApart(checks: readonly Check[]): Check[] {
  const counts = new Map<string, number>();
  return checks.map((check) => {
    const count = (counts.get(check.name) ?? 0) + 1;
    counts.set(check.name, count);
    return count === 1 ? check : { ...check, name: `${check.name} (${count})` };
  });
}

const marks = { ok: ' ok ', warning: 'warn', failure: 'FAIL' };

export function toCheckText({ name, status, says, action }: Check, stream?: NodeJS.WritableStream): string {
  const line = `${paint(status, marks[status], stream)}  ${stripControl(`${name}: ${says}`)}`;
  return action === null ? line : `${line}\n      → ${stripControl(action)}`;
}
