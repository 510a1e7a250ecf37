import { listDeliveries } from '../../src/inbox/delivery-list-store.ts';
import { sqlite } from '../support/databases.ts';
import { type Journey, openJourney } from '../support/journey.ts';

/** A journey that fills every page of the console. */
export interface BusySite extends Journey {
  /** An address at which a view shows something; undefined if it cannot be visited, such as a file. */
  addressOf(path: string): string | undefined;
  /** The ids of a trainer who is in and of one who was removed. */
  trainers: { inside: string; outside: string };
}

export async function openBusySite(): Promise<BusySite> {
  const journey = await openJourney(sqlite);
  const { sandbox, customer, quiet, deliver } = journey;
  const linkId = await customer.link('street-signs');
  await customer.link('street-lamps');
  const staying = sandbox.hire({ jobId: customer.jobId });
  const leaving = sandbox.hire({ jobId: customer.jobId });
  await quiet();
  sandbox.endContract(leaving.contractId);
  for (const number of [1, 2]) await deliver(`no event ${number}`);
  await quiet();
  const [membership] = await journey.memberships();
  const idOf = ({ trainers }: typeof staying) => trainers[0]?.opentrainUserId ?? '';
  const [{ id: deliveryId } = { id: 0 }] = await listDeliveries(journey.storage.database.kysely, { limit: 1 });
  const addresses: Record<string, string | undefined> = {
    '/deliveries/:delivery': `/deliveries/${deliveryId}`,
    '/trainers/:trainer': `/trainers/${idOf(staying)}`,
    '/contracts/:contract': `/contracts/${staying.contractId}`,
    '/memberships/:membership': `/memberships/${membership?.id}`,
    '/installs/:install': '/installs/acme',
    '/do/linksRemove': `/do/linksRemove?install=acme&link=${linkId}`,
    '/work/contracts/:contract': `/work/contracts/${staying.contractId}`,
    '/started/:act': '/started/none',
    // Other journeys visit acts, plans and budgets.
    '/acts/:act': undefined,
    '/budgets/:contract': undefined,
    '/plans/:plan': undefined,
    // The site with hires fills these.
    '/hires/jobs/:job': undefined,
    '/hires/proposals/:proposal': undefined,
    '/hires/contracts/:contract': undefined,
  };
  return {
    ...journey,
    trainers: { inside: idOf(staying), outside: idOf(leaving) },
    addressOf: (path) =>
      path in addresses || path.endsWith('.csv') || path.endsWith('/body') ? addresses[path] : path,
  };
}
