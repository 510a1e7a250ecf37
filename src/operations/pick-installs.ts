import { z } from 'zod';
import { AppError, toAppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import type { OperationContext } from './operation.ts';

/** Which installs an operation is about, and asking them one after the other. */

/** @throws AppError `not_found` for an install or a tool that does not exist */
export function refuseUnknown(
  ctx: OperationContext,
  { install, tool }: { install?: string | undefined; tool?: string | undefined },
): void {
  if (install !== undefined) oneInstall(ctx, install);
  const { tools } = ctx.config;
  if (tool === undefined || tools.has(tool)) return;
  throw new AppError('not_found', `There is no tool "${tool}"; there are: ${[...tools.keys()].sort().join(', ')}`);
}

/** @throws AppError `not_found` for an install that does not exist */
export function pickInstalls({ installs }: OperationContext, named: string | undefined): string[] {
  return named === undefined ? [...installs.keys()] : [oneInstall({ installs }, named)];
}

/** @throws AppError `not_found` for an install that does not exist */
export function oneInstall({ installs }: Pick<OperationContext, 'installs'>, named: string): string {
  if (installs.has(named)) return named;
  const known = [...installs.keys()].sort();
  const list = known.length === 0 ? 'there are none' : `there are: ${known.join(', ')}`;
  throw new AppError('not_found', `There is no install "${named}"; ${list}`);
}

export const unread = z
  .array(z.object({ install: z.string(), failure: z.string() }))
  .describe('Installs that could not be read, and why.');

/** Asks one install after the other. A failure does not hide the answers of the others. */
export async function askEach<Answer>(
  installs: readonly string[],
  signal: AbortSignal,
  ask: (install: string) => Promise<readonly Answer[]>,
) {
  const answer: { found: Answer[]; unread: z.output<typeof unread> } = { found: [], unread: [] };
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
  return sayFailures(answer.unread);
}

export function sayFailures(installs: readonly { install: string; failure: string | null }[]): string[] {
  return installs.flatMap(({ install, failure }) => (failure === null ? [] : [`${install}: ${failure}`]));
}
