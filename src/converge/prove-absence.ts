import type { Member } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { instantIn } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { findKnownMembers } from '../memberships/account-owner-store.ts';
import type { Attempt } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import { askTool, isProtectedIn, refusedRetryMs } from './converge-steps.ts';

/**
 * Proves that a member is out after a look that found none. If a call to add the member got no answer, or the tool
 * could not name the account, the member may be in under an unknown id. A tool that shows addresses would have shown
 * the member. A tool that shows none is asked for newcomers (docs/rules.md, Identity).
 *
 * @returns null if the member is out; otherwise the result to settle instead
 */
export async function proveAbsence(ctx: Context, claim: Attempt): Promise<ConvergeResult | null> {
  const since = unansweredSince(claim);
  if (since === null) return null;
  const strangers = await findStrangers(ctx, claim, since);
  if (strangers.length === 0) return null;
  return {
    operation: 'remove',
    outcome: 'refused',
    state: 'failed',
    errorCode: 'conflict',
    nextAttemptAt: instantIn(ctx.clock, refusedRetryMs),
    message: describeStrangers(claim, strangers),
    mayBeIn: strangers.map(({ id, name }) => (name === undefined ? id : `${id} ${maskText(name)}`)),
  };
}

/** When the first call to add the trainer began whose account id is not known; null if there is none. */
function unansweredSince({ memberId, addresses }: Attempt): string | null {
  if (memberId !== null) return null;
  return addresses.flatMap(({ givenAt }) => givenAt ?? []).sort()[0] ?? null;
}

/** Newcomers that belong to no known membership. */
async function findStrangers(ctx: Context, claim: Attempt, since: string): Promise<Member[]> {
  const newcomers = await askTool(ctx, claim, (adapter, signal) =>
    Array.fromAsync(adapter.listNewcomers?.(claim.groupId, since, signal) ?? []),
  );
  const ids = newcomers.map(({ id }) => id);
  const known = await findKnownMembers(ctx.database.kysely, claim, ids);
  return newcomers.filter((newcomer) => !known.has(newcomer.id) && !isProtectedIn(ctx, claim.tool, newcomer));
}

const mostShown = 5;

/** Names the accounts by id, because receipts must not contain names. */
function describeStrangers({ tool }: Attempt, strangers: readonly Member[]): string {
  const shown = strangers.slice(0, mostShown).map(({ id }) => id);
  const more = strangers.length > shown.length ? ` and ${strangers.length - shown.length} more` : '';
  return `The trainer may still be in as one of these accounts, because the tool never said which account it made for them: ${shown.join(', ')}${more}. Remove the trainer's account in ${tool}, and put the ids of the others into tools.${tool}.protected`;
}
