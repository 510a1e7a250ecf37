import { listDeliveries } from '../../src/inbox/delivery-list-store.ts';
import { sqlite } from '../support/databases.ts';
import { type Journey, openJourney } from '../support/journey.ts';

/** A journey in which something stands on every page of the console. */
export interface BusySite extends Journey {
  /** An address of a view where something stands; undefined where a view has none of its own, as a file has not. */
  addressOf(path: string): string | undefined;
  /** Of a trainer who is in, and of one who was taken out. */
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
    '/access.csv': undefined,
    '/deliveries/:id': `/deliveries/${deliveryId}`,
    '/deliveries/:id/body': undefined,
    '/trainers/:id': `/trainers/${idOf(staying)}`,
    '/contracts/:id': `/contracts/${staying.contractId}`,
    '/memberships/:id': `/memberships/${membership?.id}`,
    '/installs/:name': '/installs/acme',
    '/installs/:name/unlink/:link': `/installs/acme/unlink/${linkId}`,
    '/installs/:name/rotate': '/installs/acme/rotate',
    '/installs/:name/token': '/installs/acme/token',
    '/installs/:name/remove': '/installs/acme/remove',
    '/work.csv': undefined,
    '/work/contracts/:id': `/work/contracts/${staying.contractId}`,
    // What is held, and budgets, are there after they were read.
    '/work/held/:id': undefined,
    '/budgets/:id': undefined,
    // Acts and plans are there after the first, which the journeys see to.
    '/acts/:id': undefined,
    '/deliveries/replays/:id': undefined,
    '/plans/:id': undefined,
    '/plans/:id/approvals/:approval': '/plans/1/approvals/none',
  };
  return {
    ...journey,
    trainers: { inside: idOf(staying), outside: idOf(leaving) },
    addressOf: (path) => (path in addresses ? addresses[path] : path),
  };
}
