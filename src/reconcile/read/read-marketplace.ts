import { AppError } from '../../domain/errors.ts';
import type { PlatformReader } from '../../marketplace/platform-api.ts';
import type { Contract, Participant } from '../../marketplace/platform-schema.ts';
import type { MarketplaceRead } from './evidence-of-read.ts';

/**
 * Reads what is known of some contracts: the links, the contracts' listings (by link where a page
 * may have been cut off), and who is on each.
 *
 * @throws AppError where any of it could not be read: half a read is none. A contract that the
 * marketplace does not know (yet) is no such failure; nothing is said of it then.
 */
export async function readMarketplace(
  api: PlatformReader,
  install: string,
  contractIds: string[],
  beganAt: string,
  signal: AbortSignal,
): Promise<MarketplaceRead> {
  const links = await api.listProjectLinks(signal);
  const wanted = new Set(contractIds);
  const contracts = new Map<string, Contract>();
  const isMissing = () => [...wanted].some((id) => !contracts.has(id));

  async function collect(status: 'active' | 'ended', projectLinkId?: string): Promise<boolean> {
    const filter = projectLinkId === undefined ? { status } : { status, projectLinkId };
    const page = await api.listContracts(filter, signal);
    for (const contract of page.contracts) {
      if (wanted.has(contract.id)) contracts.set(contract.id, contract);
    }
    return page.isComplete;
  }

  // Active before ended: a contract that ends in between is then seen as ended, never as neither.
  for (const status of ['active', 'ended'] as const) {
    if (!isMissing()) break;
    const isComplete = await collect(status);
    if (isComplete) continue;
    for (const { id } of links) if (isMissing()) await collect(status, id);
  }

  const participants = new Map<string, Participant[]>();
  for (const id of wanted) {
    const present = await api.listParticipants(id, signal).catch(emptyWhereUnknown);
    participants.set(id, present);
  }
  return { install, beganAt, links, contracts: [...contracts.values()], participants };
}

function emptyWhereUnknown(error: unknown): Participant[] {
  if (error instanceof AppError && error.code === 'not_found') return [];
  throw error;
}
