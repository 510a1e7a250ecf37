import { z } from 'zod';
import { toAppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';

/** What is asked of several installs: one that cannot be asked does not hide the others. */

export const unread = z
  .array(z.object({ install: z.string(), failure: z.string() }))
  .describe('Installs that could not be read, and why.');

/** One after the other. */
export async function askEach<Found>(
  installs: readonly string[],
  signal: AbortSignal,
  ask: (install: string) => Promise<readonly Found[]>,
) {
  const answer: { found: Found[]; unread: z.output<typeof unread> } = { found: [], unread: [] };
  for (const install of installs) {
    try {
      answer.found.push(...(await ask(install)));
    } catch (error) {
      signal.throwIfAborted();
      answer.unread.push({ install, failure: maskText(toAppError(error).message) });
    }
  }
  return answer;
}

export function sayUnread(answer: { unread: z.output<typeof unread> }): string[] {
  return answer.unread.map(({ install, failure }) => `${install}: ${failure}`);
}
