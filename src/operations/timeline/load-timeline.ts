import type { Database } from '../../db/database.ts';
import { listDeliveries } from '../../inbox/delivery-list-store.ts';
import type { Bearing } from '../../memberships/explain-store.ts';
import { type TimelineStep, toTimeline } from './timeline.ts';
import { listActsAbout, listIntents, listPlansOf, listReceipts, listTimelineMemberships } from './timeline-store.ts';

export interface Timeline {
  /** The oldest first. */
  steps: TimelineStep[];
  /** Whether there are older steps that are not among them. */
  isCutOff: boolean;
}

/** So many memberships, and so many rows of each kind, make a timeline. */
const most = 200;

/** @param bearing what is known of the contracts, links and trainers that it is about */
export async function loadTimeline(
  { kysely }: Database,
  of: { id: number } | { trainerId: string } | { contractId: string },
  bearing: Pick<Bearing, 'contracts' | 'links' | 'grants' | 'participations'>,
): Promise<Timeline> {
  const memberships = await listTimelineMemberships(kysely, of, most);
  const ids = memberships.map(({ id }) => id);
  const contracts = bearing.contracts.slice(0, most);
  const links = bearing.links.slice(0, most);
  const installs = new Set(contracts.map(({ install }) => install));
  const grants = bearing.grants.filter(({ install }) => installs.has(install));
  const subjects = [
    ...contracts.map(({ contractId }) => contractId),
    ...links.map(({ linkId }) => linkId),
    ...grants.map(({ grantId }) => grantId),
  ];
  const deliveries = await listDeliveries(kysely, { subjects, limit: most });
  const [intents, receipts] = [await listIntents(kysely, ids, most), await listReceipts(kysely, ids, most)];
  const about = {
    subjects: [
      ...ids.flatMap((id) => [`membership ${id}`, `the account in doubt of membership ${id}`]),
      ...contracts.map(({ install, contractId }) => `${install}/${contractId}`),
      ...links.map(({ install, linkId }) => `${install}/${linkId}`),
      ...(await listPlansOf(kysely, ids, most)).map((id) => `plan ${id}`),
    ],
    trainerIds: [...new Set(memberships.map(({ trainerId }) => trainerId))],
  };
  const acts = await listActsAbout(kysely, about, most);
  const steps = toTimeline({
    deliveries: deliveries.filter(({ install }) => installs.has(install)).reverse(),
    contracts,
    links,
    grants,
    participations: bearing.participations.slice(0, most),
    memberships,
    // Rows come in the order of their ids, which two steps at the same moment keep.
    intents: intents.reverse(),
    receipts: receipts.reverse(),
    acts: acts.reverse(),
  });
  return { steps, isCutOff: [memberships, deliveries, intents, receipts, acts].some(({ length }) => length >= most) };
}
