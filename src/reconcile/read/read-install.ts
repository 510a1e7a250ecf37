import type { Context } from '../../context.ts';
import { AppError } from '../../domain/errors.ts';
import type { JobHold } from '../../jobs/job.ts';
import { mapAtOnce } from '../../lib/lists.ts';
import { createSameText } from '../../lib/text.ts';
import type {
  Contract,
  ContractPage,
  Grant,
  Link,
  Participant,
  Source,
  SourceReader,
  UnreadLink,
} from '../../marketplace/source.ts';

/** What is known of an install, to be compared with a read. */
export interface KnownInstall {
  /** Links that count as live: by id, when each was first seen. */
  links: ReadonlyMap<string, string | null>;
  /** Contracts that have not ended by any evidence, by id. */
  contracts: ReadonlyMap<string, StoredContract>;
  /** Contracts that an event has announced, and that are still to be read. */
  announcedIds?: readonly string[];
  /** Contracts that are a reason of an orphaned membership. */
  orphanedContractIds?: ReadonlySet<string>;
}

export interface StoredContract {
  contractId: string;
  /** The links that the contract is on. */
  linkIds: string[];
  trainerIds: string[];
  /** Null also if the last read left out a known trainer; then it is asked for again. */
  participantsReadAt: string | null;
  /** Whether the work address of one of these trainers is unknown. */
  lacksAddress?: boolean;
}

/** By contract: the answers to the requests for participants. */
export type Participants = ReadonlyMap<string, Participant[]>;

/** What the marketplace lists of one install, and what it left out. */
export interface ReadLists {
  install: string;
  /** When its first request was sent. The answers may be as old as that. */
  beganAt: string;
  grant: Grant;
  links: Link[];
  /** Known links that are not listed, and that answer 404 by their id. */
  missingLinkIds: string[];
  contracts: Contract[];
  /** Whether the list of active contracts was complete and not empty. */
  isActiveWhole: boolean;
  /** Links whose contracts the marketplace refused to list. */
  unreadLinks: readonly UnreadLink[];
}

/** The participants of a contract are asked for again after this long. */
const participantsStaleMs = 6 * 3_600_000;
/** The same while a work address is unknown: no event tells that a customer has given their consent. */
const unaddressedStaleMs = 3_600_000;

/** How many contracts are asked at the same time; the pacer may allow fewer. */
const asksAtOnce = 8;

/** The listings of an install, before the participants of its contracts are asked for. */
export interface InstallListing extends ReadLists {
  /** Known contracts of live links that are in no list. */
  unlisted: ReadonlySet<string>;
  /**
   * The unlisted and the active contracts whose participants are unknown, or were read long ago or before a link; where
   * a work address is unknown, an hour is long ago.
   */
  toAsk: ReadonlySet<string>;
}

/**
 * Lists a whole install: grant, links and contracts. Active contracts are listed before ended ones, so that a contract
 * that ends in between is in the second list.
 *
 * @throws AppError if a request failed; there is no half read
 */
export async function listInstall(
  source: SourceReader,
  install: string,
  known: KnownInstall,
  beganAt: string,
  signal: AbortSignal,
): Promise<InstallListing> {
  const grant = await source.readGrant(signal);
  const links = await source.listLinks(signal);
  const missingLinkIds = await findMissingLinks(source, links, known, signal);
  const active = await listActive(source, links, signal);
  const unreadLinks = active.unreadLinks ?? [];
  const readLinks = withoutUnread(links, unreadLinks);
  const unseen = findUnlisted(known, readLinks, active.contracts);
  const ended = await listEnded(source, unseen, readLinks, signal);
  const endedIds = new Set(idsOf(ended));
  const unlisted = unseen.filter(({ contractId }) => !endedIds.has(contractId));
  const listed = active.contracts.map(({ id, projectLinkIds }) => ({ contractId: id, linkIds: projectLinkIds }));
  return {
    install,
    beganAt,
    grant,
    links,
    missingLinkIds,
    contracts: [...active.contracts, ...ended],
    // An empty list may be a fault of the marketplace, so nothing follows from it.
    isActiveWhole: active.isComplete && active.contracts.length > 0,
    unreadLinks,
    unlisted: new Set(unlisted.map(({ contractId }) => contractId)),
    toAsk: new Set([
      ...findUnread(known, [...listed, ...unlisted], { grant, links, beganAt }),
      ...idsOf(ended).filter((id) => known.orphanedContractIds?.has(id)),
    ]),
  };
}

type OnLinks = Pick<StoredContract, 'contractId' | 'linkIds'>;

/** A newer link counts too: between one link of a job and the next no event says who is on its contracts. */
function findUnread(
  known: KnownInstall,
  contracts: OnLinks[],
  { grant, links, beganAt }: Pick<ReadLists, 'grant' | 'links' | 'beganAt'>,
) {
  const sinceById = new Map(links.map(({ id }) => [id, known.links.has(id) ? known.links.get(id) : beganAt]));
  const unread = contracts.filter(({ contractId, linkIds }) => {
    const { trainerIds = [], participantsReadAt: readAt = null, lacksAddress } = known.contracts.get(contractId) ?? {};
    if (trainerIds.length === 0 || readAt === null) return true;
    if (linkIds.some((linkId) => (sinceById.get(linkId) ?? '') > readAt)) return true;
    // Without the customer's consent no answer has an address.
    const mayTellAddress = lacksAddress === true && grant.piiConsent !== false;
    return Date.parse(beganAt) - Date.parse(readAt) > (mayTellAddress ? unaddressedStaleMs : participantsStaleMs);
  });
  return unread.map(({ contractId }) => contractId);
}

function idsOf(contracts: readonly Contract[]): string[] {
  return contracts.map(({ id }) => id);
}

/** @returns the answers by contract, without those of 404 @throws AppError if a request failed */
export async function askParticipants(
  source: SourceReader,
  contractIds: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, Participant[]>> {
  const participants = new Map<string, Participant[]>();
  await mapAtOnce(contractIds, asksAtOnce, async (contractId) => {
    const present = await nullWhereUnknown(source.listParticipants(contractId, signal));
    if (present !== null) participants.set(contractId, present);
  });
  return participants;
}

async function findMissingLinks(
  source: SourceReader,
  links: Link[],
  known: KnownInstall,
  signal: AbortSignal,
): Promise<string[]> {
  const listed = new Set(links.map(({ id }) => id));
  const missing: string[] = [];
  for (const linkId of [...known.links.keys()].filter((id) => !listed.has(id))) {
    const link = await nullWhereUnknown(source.readLink(linkId, signal));
    if (link === null) missing.push(linkId);
    else links.push(link);
  }
  return missing;
}

/** One listing if they fit into one, else one for each link. */
export async function listActive(source: SourceReader, links: Link[], signal: AbortSignal): Promise<ContractPage> {
  const filter = { status: 'active', keep: createPacking() } as const;
  const whole = await source.listContracts(filter, signal);
  if (whole.isComplete) return whole;
  const { unreadLinks = [] } = whole;
  const contracts = new Map(whole.contracts.map((contract) => [contract.id, contract]));
  let isComplete = true;
  for (const { id: projectLinkId } of withoutUnread(links, unreadLinks)) {
    const page = await source.listContracts({ ...filter, projectLinkId }, signal);
    isComplete &&= page.isComplete;
    for (const contract of page.contracts) contracts.set(contract.id, contract);
  }
  return { contracts: [...contracts.values()], isComplete, unreadLinks };
}

export function withoutUnread(links: readonly Link[], unread: readonly UnreadLink[] = []): Link[] {
  return links.filter(({ id }) => !unread.some(({ linkId }) => linkId === id));
}

/**
 * The newest ended contracts, and as many older ones as it takes to find all that are sought, by
 * their known links. All ended contracts would be too many to list.
 */
async function listEnded(
  source: SourceReader,
  sought: StoredContract[],
  links: Link[],
  signal: AbortSignal,
): Promise<Contract[]> {
  const contracts = new Map<string, Contract>();
  const collect = (page: readonly Contract[]) => {
    for (const contract of page) contracts.set(contract.id, contract);
  };
  const isMissing = ({ contractId }: StoredContract) => !contracts.has(contractId);
  const wantsMore = (page: readonly Contract[]) => {
    collect(page);
    return sought.some(isMissing);
  };
  const filter = { status: 'ended', keep: createPacking(), wantsMore } as const;
  const whole = await source.listContracts(filter, signal);
  collect(whole.contracts);
  if (whole.isComplete) return [...contracts.values()];
  for (const { id: projectLinkId } of links) {
    const isOnIt = (one: StoredContract) => one.linkIds.includes(projectLinkId) && isMissing(one);
    if (!sought.some(isOnIt)) continue;
    const page = await source.listContracts({ ...filter, projectLinkId }, signal);
    collect(page.contracts);
  }
  return [...contracts.values()];
}

/** Keeps only what is evidence, and shares equal texts, because there may be very many contracts. */
function createPacking(): (contract: Contract) => Contract {
  const same = createSameText();
  return ({ id, status, title, jobId = null, startDate, endDate, projectLinkIds }) => ({
    startDate,
    endDate,
    jobId: jobId === null ? null : same.text(jobId),
    id,
    status: same.text(status),
    title: title === null ? null : same.text(title),
    projectLinkIds: same.list(projectLinkIds),
  });
}

/** Known contracts of live links that the list does not have. */
function findUnlisted(known: KnownInstall, links: Link[], contracts: Contract[]): StoredContract[] {
  const listed = new Set(idsOf(contracts));
  const live = new Set(links.map(({ id }) => id));
  const isUnlisted = ({ contractId, linkIds }: StoredContract) =>
    !listed.has(contractId) && linkIds.some((linkId) => live.has(linkId));
  return [...known.contracts.values().filter(isUnlisted)];
}

async function nullWhereUnknown<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}

/** @throws AppError `not_found` if the install is not configured */
export function findSource({ sources }: Context, install: string): Source {
  const source = sources.get(install);
  if (source !== undefined) return source;
  throw new AppError('not_found', `The install ${install} is not configured`);
}

/** The same reader, which calls `progress` at every answer and at every page of a long listing. */
export function withProgress(source: SourceReader, progress: JobHold['progress']): SourceReader {
  async function noting<T>(asked: Promise<T>): Promise<T> {
    const answer = await asked;
    await progress();
    return answer;
  }
  return {
    readGrant: (signal) => noting(source.readGrant(signal)),
    listLinks: (signal) => noting(source.listLinks(signal)),
    readLink: (id, signal) => noting(source.readLink(id, signal)),
    listParticipants: (id, signal) => noting(source.listParticipants(id, signal)),
    listContracts(filter, signal) {
      const wantsMore: typeof filter.wantsMore = async (page) => {
        await progress();
        return (await filter.wantsMore?.(page)) ?? true;
      };
      return noting(source.listContracts({ ...filter, wantsMore }, signal));
    },
  };
}
