import type { Context } from '../../context.ts';
import type { Participant } from '../../marketplace/source.ts';
import type { InstallListing, KnownInstall } from './read-install.ts';

/**
 * What an answered read left in doubt. `empty_list`: no active contract although some are known
 * that are not listed as ended either.
 * `cut_off_list`: the list of active contracts may have been longer. `unknown_status`: a contract has
 * one that Gangway does not know. `unlisted_link`, `unlisted_contract`: a known one is in no list.
 * `unread_contract`: one that an event has announced, and that could not be read yet, is in no list.
 * `unknown_contract`: its participants were asked for and answered 404. `empty_contract`: they
 * were answered with an empty list. `unread_link`: the contracts of a link were refused, those of others not. No doubt
 * removes a member.
 */
export const doubtKinds = [
  'empty_list',
  'cut_off_list',
  'unknown_status',
  'unlisted_link',
  'unlisted_contract',
  'unread_contract',
  'unknown_contract',
  'empty_contract',
  'unread_link',
] as const;

export type DoubtKind = (typeof doubtKinds)[number];

/** The number of each. */
export type Doubts = Record<DoubtKind, number>;

/**
 * Whether the read would have listed an active contract that is not known yet. An empty list that leaves out a known
 * contract of a live link may leave out unknown ones too.
 */
export function tellsActive({ empty_list, unlisted_contract }: Doubts): boolean {
  return empty_list === 0 || unlisted_contract === 0;
}

/**
 * Whether the read also serves as the list that ends wait for. An announced contract that is in no list may be a
 * renewal, and so may one without participants. Such a read still ends holds, because some contracts can never be read.
 */
export function tellsRenewals(doubts: Doubts): boolean {
  const { unread_contract, empty_contract, unknown_contract } = doubts;
  return tellsActive(doubts) && unread_contract + empty_contract + unknown_contract === 0;
}

export function doubtsOfListing(
  { contracts, missingLinkIds, unlisted, isActiveWhole, unreadLinks }: InstallListing,
  known: KnownInstall,
): Doubts {
  const isActiveEmpty = !contracts.some(({ status }) => status !== 'ended');
  const listedIds = new Set(contracts.map(({ id }) => id));
  const isLost = isActiveEmpty && known.contracts.keys().some((id) => !listedIds.has(id));
  return {
    empty_list: isLost ? 1 : 0,
    cut_off_list: !isActiveEmpty && !isActiveWhole ? 1 : 0,
    unknown_status: contracts.filter(({ status }) => !knownStatuses.has(status)).length,
    unlisted_link: missingLinkIds.length,
    unlisted_contract: unlisted.size,
    unread_contract: (known.announcedIds ?? []).filter((id) => !listedIds.has(id)).length,
    unknown_contract: 0,
    empty_contract: 0,
    unread_link: unreadLinks.length,
  };
}

const knownStatuses: ReadonlySet<string> = new Set(['active', 'ended']);

/** Adds the doubts of the answers about participants. */
export function addDoubts(
  doubts: Doubts,
  asked: readonly string[],
  participants: ReadonlyMap<string, Participant[]>,
): void {
  doubts.unknown_contract += asked.filter((id) => !participants.has(id)).length;
  for (const present of participants.values()) {
    if (present.length === 0) doubts.empty_contract += 1;
  }
}

/** Reports the doubts of a read in the log, and as metrics until the next read. */
export function reportDoubts({ metrics, logger }: Context, install: string, doubts: Doubts): void {
  for (const kind of doubtKinds) metrics.readDoubts.set({ install, kind }, doubts[kind]);
  const found = doubtKinds.filter((kind) => doubts[kind] > 0);
  if (found.length === 0) {
    logger.info({ install }, 'An install was read');
    return;
  }
  const counts = Object.fromEntries(found.map((kind) => [kind, doubts[kind]]));
  logger.warn(
    { install, ...counts },
    'An install was read, and part of the answer is in doubt: that removes no member',
  );
}
