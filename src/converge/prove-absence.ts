import type { Member } from '../adapters/adapter.ts';
import { instantIn } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { isProtected } from '../tools/account-rules.ts';
import { callTool } from '../tools/call-tool.ts';
import type { Claim } from './claim-store.ts';
import { type ConvergeDeps, refusedRetryMs } from './converge-steps.ts';
import type { ConvergeResult } from './settle-store.ts';

/**
 * Whether somebody whom a look did not find is out. Where a call that adds them was never answered,
 * or met somebody of their address whom it could not name, they may be in under an id that nobody has
 * told us. A tool that shows addresses would have shown them; one that shows none is asked who came
 * since (design section 2, *Identity*).
 *
 * @returns null where they are out; else what is to be settled instead
 */
export async function proveAbsence(
  deps: ConvergeDeps,
  claim: Claim,
  signal: AbortSignal,
): Promise<ConvergeResult | null> {
  const since = unansweredSince(claim);
  if (since === null) return null;
  const strangers = await findStrangers(deps, claim, since, signal);
  if (strangers.length === 0) return null;
  return {
    operation: 'remove',
    outcome: 'refused',
    state: 'failed',
    errorCode: 'conflict',
    nextAttemptAt: instantIn(deps.clock, refusedRetryMs),
    message: describeStrangers(claim, strangers),
    mayBeIn: strangers.map(({ id, name }) => (name === undefined ? id : `${id} ${maskText(name)}`)),
  };
}

/** Since when they may have been let in; null where nobody tried, or the tool has told their id. */
function unansweredSince({ memberId, addresses }: Claim): string | null {
  if (memberId !== null) return null;
  return addresses.flatMap(({ givenAt }) => givenAt ?? []).sort()[0] ?? null;
}

/** Newcomers of whom nobody knows who they are. */
async function findStrangers(
  { adapter, settling, timeoutMs, protectedAccounts }: ConvergeDeps,
  claim: Claim,
  since: string,
  signal: AbortSignal,
): Promise<Member[]> {
  const newcomers = await callTool(timeoutMs, signal, (callSignal) =>
    Array.fromAsync(adapter.listNewcomers?.(claim.groupId, since, callSignal) ?? []),
  );
  const ids = newcomers.map(({ id }) => id);
  const known = await settling.knownMembers(claim, ids);
  return newcomers.filter((newcomer) => !known.has(newcomer.id) && !isProtected(protectedAccounts, newcomer));
}

const mostShown = 5;

/** By their ids: names stay out of what is kept. */
function describeStrangers({ tool }: Claim, strangers: readonly Member[]): string {
  const shown = strangers.slice(0, mostShown).map(({ id }) => id);
  const more = strangers.length > shown.length ? ` and ${strangers.length - shown.length} more` : '';
  return `They may still be in, as one of these accounts, as adding them was never answered: ${shown.join(', ')}${more}. Remove the one that is theirs in ${tool}; put the ids of the others into tools.${tool}.protected`;
}
