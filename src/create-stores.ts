import { createAddressStore } from './engine/address-store.ts';
import { createBrakeStore } from './engine/brake-store.ts';
import { createEvidenceStore } from './engine/evidence-store.ts';
import { createOrphanStore } from './engine/orphan-store.ts';
import { createReadRequestStore } from './engine/read-request-store.ts';
import { createBindingStore } from './installs/binding-store.ts';
import type { Storage } from './open-storage.ts';
import { createActiveListStore } from './reconcile/active-list-store.ts';
import { createRunStore } from './reconcile/run-store.ts';

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
