import type { Participant } from '../../marketplace/platform-schema.ts';
import type { InstallListing, KnownInstall } from './read-install.ts';

/**
 * What a read that was answered did not say, although it was asked: `empty_list`, of contracts where
 * there were some; `cut_off_list`, that may have been longer; `unknown_status`, of a contract;
 * `unlisted_link` and `unlisted_contract`, that are known; `unknown_contract` (404) and
 * `nobody_on_contract`, where it was asked who is on it. None of them alone removes anybody.
 */
export const doubtKinds = [
  'empty_list',
  'cut_off_list',
  'unknown_status',
  'unlisted_link',
  'unlisted_contract',
  'unknown_contract',
  'nobody_on_contract',
] as const;

export type DoubtKind = (typeof doubtKinds)[number];

/** How many there are of each. */
export type Doubts = Record<DoubtKind, number>;

export function doubtsOfListing(
  { contracts, missingLinkIds, unlisted, isActiveWhole }: InstallListing,
  known: KnownInstall,
): Doubts {
  const isActiveEmpty = !contracts.some(({ status }) => status !== 'ended');
  const isLost = isActiveEmpty && known.contracts.length > 0;
  return {
    empty_list: isLost ? 1 : 0,
    cut_off_list: !isActiveEmpty && !isActiveWhole ? 1 : 0,
    unknown_status: contracts.filter(({ status }) => !knownStatuses.has(status)).length,
    unlisted_link: missingLinkIds.length,
    unlisted_contract: unlisted.size,
    unknown_contract: 0,
    nobody_on_contract: 0,
  };
}

const knownStatuses: ReadonlySet<string> = new Set(['active', 'ended']);

/** Adds what came of asking who is on some contracts. */
export function addDoubts(
  doubts: Doubts,
  asked: readonly string[],
  participants: ReadonlyMap<string, Participant[]>,
): void {
  doubts.unknown_contract += asked.filter((id) => !participants.has(id)).length;
  for (const present of participants.values()) {
    if (present.length === 0) doubts.nobody_on_contract += 1;
  }
}
