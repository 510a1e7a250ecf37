import { AppError } from '../../domain/errors.ts';
import { mapAtOnce } from '../../lib/at-once.ts';
import { createSameText } from '../../lib/same-text.ts';
import type { ContractPage, PlatformReader } from '../../marketplace/platform-api.ts';
import type { Contract, Install, Participant, ProjectLink } from '../../marketplace/platform-schema.ts';

/** What an install is known to have: what a read may find missing. */
export interface KnownInstall {
  /** Links that count as live. */
  linkIds: string[];
  /** Contracts that no source says have ended, with the trainers who count as on them. */
  contracts: KnownContract[];
  /** Contracts that somebody is in a tool by whom the configuration leads to no longer. */
  orphanedContractIds?: ReadonlySet<string>;
}

export interface KnownContract {
  contractId: string;
  /** Those that it counts as being on. */
  linkIds: string[];
  trainerIds: string[];
  /** Null also where that read missed somebody, so that it is asked again. */
  participantsReadAt: string | null;
}

/** All that the marketplace says of one install, and what it had nothing to say of. */
export interface InstallRead {
  install: string;
  /** When the first request of it was sent: what it says may be as old as that. */
  beganAt: string;
  grant: Install;
  links: ProjectLink[];
  /** Known links that were not listed and answered 404 by their id. */
  missingLinkIds: string[];
  contracts: Contract[];
  /** Whether the list of active contracts was whole, and had something in it. */
  isActiveWhole: boolean;
  /** By contract, where it was asked and answered. */
  participants: ReadonlyMap<string, Participant[]>;
}

/** Who is on a contract is asked again after this long. */
const participantsStaleMs = 6 * 3_600_000;

/** So many contracts are asked at the same time, as far as the pace allows. */
const asksAtOnce = 8;

/** What the listings of an install say, before anybody is asked who is on its contracts. */
export interface InstallListing extends Omit<InstallRead, 'participants'> {
  /** Known contracts of links that are still there, which no list had. */
  unlisted: ReadonlySet<string>;
  /** Those, and active ones, of which it is not known, or not lately, who is on them. */
  toAsk: ReadonlySet<string>;
}

/**
 * Reads the whole of an install: grant, links, contracts (active before ended, so that one that ends
 * in between is seen as ended and never as neither), and who is on them.
 *
 * @throws AppError where any of it could not be read: half a read is none
 */
export async function readInstall(
  api: PlatformReader,
  install: string,
  known: KnownInstall,
  beganAt: string,
  signal: AbortSignal,
): Promise<InstallRead> {
  const { unlisted: _, toAsk, ...listing } = await listInstall(api, install, known, beganAt, signal);
  return { ...listing, participants: await askParticipants(api, [...toAsk], signal) };
}

/** @throws AppError where any of it could not be read */
export async function listInstall(
  api: PlatformReader,
  install: string,
  known: KnownInstall,
  beganAt: string,
  signal: AbortSignal,
): Promise<InstallListing> {
  const grant = await api.getInstall(signal);
  const links = await api.listProjectLinks(signal);
  const missingLinkIds = await findMissingLinks(api, links, known, signal);
  const active = await listActive(api, links, signal);
  const unseen = findUnlisted(known, links, active.contracts);
  const ended = await listEnded(api, unseen, links, signal);
  const endedIds = new Set(idsOf(ended));
  const unlisted = unseen.map(({ contractId }) => contractId).filter((id) => !endedIds.has(id));
  return {
    install,
    beganAt,
    grant,
    links,
    missingLinkIds,
    contracts: [...active.contracts, ...ended],
    // An empty list is what a hiccup looks like, and nothing follows from it.
    isActiveWhole: active.isComplete && active.contracts.length > 0,
    unlisted: new Set(unlisted),
    toAsk: new Set([
      ...findUnread(known, [...idsOf(active.contracts), ...unlisted], beganAt),
      ...idsOf(ended).filter((id) => known.orphanedContractIds?.has(id)),
    ]),
  };
}

function findUnread(known: KnownInstall, contractIds: string[], beganAt: string): string[] {
  const knownById = new Map(known.contracts.map((contract) => [contract.contractId, contract]));
  return contractIds.filter((id) => {
    const { trainerIds = [], participantsReadAt = null } = knownById.get(id) ?? {};
    if (trainerIds.length === 0 || participantsReadAt === null) return true;
    return Date.parse(beganAt) - Date.parse(participantsReadAt) > participantsStaleMs;
  });
}

function idsOf(contracts: readonly Contract[]): string[] {
  return contracts.map(({ id }) => id);
}

/** @returns by contract, where it was answered @throws AppError where one could not be asked */
export async function askParticipants(
  api: PlatformReader,
  contractIds: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, Participant[]>> {
  const participants = new Map<string, Participant[]>();
  await mapAtOnce(contractIds, asksAtOnce, async (contractId) => {
    const present = await nullWhereUnknown(api.listParticipants(contractId, signal));
    if (present !== null) participants.set(contractId, present);
  });
  return participants;
}

async function findMissingLinks(
  api: PlatformReader,
  links: ProjectLink[],
  known: KnownInstall,
  signal: AbortSignal,
): Promise<string[]> {
  const listed = new Set(links.map(({ id }) => id));
  const missing: string[] = [];
  for (const linkId of known.linkIds.filter((id) => !listed.has(id))) {
    const link = await nullWhereUnknown(api.getProjectLink(linkId, signal));
    if (link === null) missing.push(linkId);
    else links.push(link);
  }
  return missing;
}

/** In one listing where they fit into one, else by link. */
export async function listActive(
  api: PlatformReader,
  links: ProjectLink[],
  signal: AbortSignal,
): Promise<ContractPage> {
  const filter = { status: 'active', keep: createPacking() } as const;
  const whole = await api.listContracts(filter, signal);
  if (whole.isComplete) return whole;
  const contracts = new Map(whole.contracts.map((contract) => [contract.id, contract]));
  let isComplete = true;
  for (const { id: projectLinkId } of links) {
    const page = await api.listContracts({ ...filter, projectLinkId }, signal);
    isComplete &&= page.isComplete;
    for (const contract of page.contracts) contracts.set(contract.id, contract);
  }
  return { contracts: [...contracts.values()], isComplete };
}

/**
 * The newest that have ended, and of those before them as many as it takes to find all that are
 * sought, by the links these are known to have: there is no bound to how many have ended.
 */
async function listEnded(
  api: PlatformReader,
  sought: KnownContract[],
  links: ProjectLink[],
  signal: AbortSignal,
): Promise<Contract[]> {
  const contracts = new Map<string, Contract>();
  const collect = (page: readonly Contract[]) => {
    for (const contract of page) contracts.set(contract.id, contract);
  };
  const isMissing = ({ contractId }: KnownContract) => !contracts.has(contractId);
  const wantsMore = (page: readonly Contract[]) => {
    collect(page);
    return sought.some(isMissing);
  };
  const filter = { status: 'ended', keep: createPacking(), wantsMore } as const;
  const whole = await api.listContracts(filter, signal);
  collect(whole.contracts);
  if (whole.isComplete) return [...contracts.values()];
  for (const { id: projectLinkId } of links) {
    const isOnIt = (one: KnownContract) => one.linkIds.includes(projectLinkId) && isMissing(one);
    if (!sought.some(isOnIt)) continue;
    const page = await api.listContracts({ ...filter, projectLinkId }, signal);
    collect(page.contracts);
  }
  return [...contracts.values()];
}

/** Only what is evidence, and what is the same in many but once: there may be very many. */
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

/** Known contracts of links that are still there, which the list did not have. */
function findUnlisted(known: KnownInstall, links: ProjectLink[], contracts: Contract[]): KnownContract[] {
  const listed = new Set(idsOf(contracts));
  const live = new Set(links.map(({ id }) => id));
  return known.contracts.filter(({ contractId, linkIds }) => {
    return !listed.has(contractId) && linkIds.some((linkId) => live.has(linkId));
  });
}

async function nullWhereUnknown<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}
