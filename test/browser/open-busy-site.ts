import { sqlite } from '../support/databases.ts';
import { type Journey, openJourney } from '../support/journey.ts';

/** A journey in which something stands on every page of the console. */
export interface BusySite extends Journey {
  /** An address of a view where something stands; undefined where a view has none of its own. */
  addressOf(path: string): string | undefined;
}

export async function openBusySite(): Promise<BusySite> {
  const journey = await openJourney(sqlite);
  const { sandbox, customer, quiet } = journey;
  await customer.link('street-signs');
  await customer.link('street-lamps');
  sandbox.hire({ jobId: customer.jobId });
  const { contractId } = sandbox.hire({ jobId: customer.jobId });
  await quiet();
  sandbox.endContract(contractId);
  await quiet();
  const [membership] = await journey.memberships();
  const addresses = new Map([
    ['/memberships/:id', `/memberships/${membership?.id}`],
    ['/trainers/:id', `/trainers/${membership?.trainerId}`],
    ['/contracts/:id', `/contracts/${contractId}`],
    ['/deliveries/:id', '/deliveries/1'],
  ]);
  const isFile = (path: string) => path.includes(':') || path.endsWith('.csv');
  return { ...journey, addressOf: (path) => addresses.get(path) ?? (isFile(path) ? undefined : path) };
}
