import { AppError } from '../domain/errors.ts';
import type { ContractPage, PlatformReader } from '../marketplace/platform-api.ts';
import type {
  Contract,
  Install,
  Participant,
  ProjectLink,
} from '../marketplace/platform-schema.ts';

/** What an install is known to have: what a read may find missing. */
export interface KnownInstall {
  /** Links that count as live. */
  linkIds: string[];
  /** Contracts that no source says have ended, with the trainers who count as on them. */
  contracts: KnownContract[];
}

export interface KnownContract {
  contractId: string;
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
  /** Contracts that were in no list, while somebody was still on them. */
  missingContractIds: string[];
  /** By contract, where it was asked and answered. */
  participants: ReadonlyMap<string, Participant[]>;
}

/** Who is on a contract is asked again after this long. */
const participantsStaleMs = 6 * 3_600_000;

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
  const grant = await api.getInstall(signal);
  const links = await api.listProjectLinks(signal);
  const missingLinkIds = await findMissingLinks(api, links, known, signal);
  const active = await listAll(api, 'active', links, signal);
  const ended = await listAll(api, 'ended', links, signal);
  const contracts = [...active.contracts, ...ended.contracts];
  const unlisted = findUnlisted(known, links, contracts);
  const participants = new Map<string, Participant[]>();
  const toAsk = new Set([...findUnread(known, active.contracts, beganAt), ...unlisted]);
  for (const contractId of toAsk) {
    const present = await findParticipants(api, contractId, signal);
    if (present !== null) participants.set(contractId, present);
  }
  return {
    ...{ install, beganAt, grant, links, missingLinkIds, contracts, participants },
    // An empty list is what a hiccup looks like, and nothing follows from it.
    isActiveWhole: active.isComplete && active.contracts.length > 0,
    missingContractIds: unlisted.filter((id) => (participants.get(id)?.length ?? 0) > 0),
  };
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

/** In one page where they fit into one, else by link. */
async function listAll(
  api: PlatformReader,
  status: 'active' | 'ended',
  links: ProjectLink[],
  signal: AbortSignal,
): Promise<ContractPage> {
  const whole = await api.listContracts({ status }, signal);
  if (whole.isComplete) return whole;
  const contracts = new Map(whole.contracts.map((contract) => [contract.id, contract]));
  let isComplete = true;
  for (const { id: projectLinkId } of links) {
    const page = await api.listContracts({ status, projectLinkId }, signal);
    isComplete &&= page.isComplete;
    for (const contract of page.contracts) contracts.set(contract.id, contract);
  }
  return { contracts: [...contracts.values()], isComplete };
}

/** Known contracts of links that are still there, which no list had. */
function findUnlisted(known: KnownInstall, links: ProjectLink[], contracts: Contract[]): string[] {
  const listed = new Set(contracts.map(({ id }) => id));
  const live = new Set(links.map(({ id }) => id));
  return known.contracts
    .filter(({ contractId, linkIds }) => {
      return !listed.has(contractId) && linkIds.some((linkId) => live.has(linkId));
    })
    .map(({ contractId }) => contractId);
}

function findUnread(known: KnownInstall, active: Contract[], beganAt: string): string[] {
  const knownById = new Map(known.contracts.map((contract) => [contract.contractId, contract]));
  return active
    .map(({ id }) => id)
    .filter((id) => {
      const { trainerIds = [], participantsReadAt = null } = knownById.get(id) ?? {};
      if (trainerIds.length === 0 || participantsReadAt === null) return true;
      return Date.parse(beganAt) - Date.parse(participantsReadAt) > participantsStaleMs;
    });
}

async function findParticipants(
  api: PlatformReader,
  contractId: string,
  signal: AbortSignal,
): Promise<Participant[] | null> {
  return await nullWhereUnknown(api.listParticipants(contractId, signal));
}

async function nullWhereUnknown<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}
