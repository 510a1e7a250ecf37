import { AppError } from '../../domain/errors.ts';
import type { Contract, ContractPage, Participant, SourceReader } from '../../sources/source.ts';
import type { MarketplaceRead } from './evidence-of-read.ts';
import { withoutUnread } from './read-install.ts';

/**
 * Reads some contracts: the links, the listings of contracts (one for each link if a page may have
 * been cut off), and the participants of each.
 *
 * @throws AppError if a request failed; there is no half read. A contract that the marketplace does
 * not know (yet) is no failure, and adds no evidence.
 */
export async function readMarketplace(
  source: SourceReader,
  install: string,
  contractIds: string[],
  beganAt: string,
  signal: AbortSignal,
): Promise<MarketplaceRead> {
  const links = await source.listLinks(signal);
  const wanted = new Set(contractIds);
  const contracts = new Map<string, Contract>();
  const isMissing = () => [...wanted].some((id) => !contracts.has(id));

  async function collect(status: 'active' | 'ended', projectLinkId?: string): Promise<ContractPage> {
    const filter = projectLinkId === undefined ? { status } : { status, projectLinkId };
    const page = await source.listContracts(filter, signal);
    for (const contract of page.contracts) {
      if (wanted.has(contract.id)) contracts.set(contract.id, contract);
    }
    return page;
  }

  // Active before ended, so that a contract that ends in between is in the second list.
  for (const status of ['active', 'ended'] as const) {
    if (!isMissing()) break;
    const { isComplete, unreadLinks } = await collect(status);
    if (isComplete) continue;
    for (const { id } of withoutUnread(links, unreadLinks)) if (isMissing()) await collect(status, id);
  }

  const participants = new Map<string, Participant[]>();
  for (const id of wanted) {
    const present = await source.listParticipants(id, signal).catch(emptyWhereUnknown);
    participants.set(id, present);
  }
  return { install, beganAt, links, contracts: [...contracts.values()], participants };
}

function emptyWhereUnknown(error: unknown): Participant[] {
  if (error instanceof AppError && error.code === 'not_found') return [];
  throw error;
}
