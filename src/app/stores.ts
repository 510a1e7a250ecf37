import { createEvidenceStore } from '../evidence/evidence-store.ts';
import { createReadRequestStore } from '../evidence/read-request-store.ts';
import { createBindingStore } from '../installs/binding-store.ts';
import { createAddressStore } from '../memberships/address-store.ts';
import { createOrphanStore } from '../memberships/orphan-store.ts';
import { createActiveListStore } from '../reconcile/runs/active-list-store.ts';
import { createRunStore } from '../reconcile/runs/run-store.ts';
import { createBrakeStore } from '../removals/brake-store.ts';
import type { Storage } from './storage.ts';

/** What the engine keeps, by table. */
export function createStores({ database, box }: Storage) {
  return {
    evidence: createEvidenceStore(database, box),
    addresses: createAddressStore(box),
    readRequests: createReadRequestStore(database),
    learnCustomer: createBindingStore(database).learn,
    runs: createRunStore(database),
    orphans: createOrphanStore(database),
    brakes: createBrakeStore(database),
    activeLists: createActiveListStore(database),
  };
}
