import type { Database } from '../../db/database.ts';
import type { Sighting } from '../../domain/usage.ts';
import type { SightingSource } from '../read/sighting-store.ts';
import { createImportStore } from './import-store.ts';

const lastDay = '9999-12-31';

/** What files say of the work that is due to be reported, as another source beside the tools. */
export function createImportSightings(database: Database): SightingSource {
  const imports = createImportStore(database);
  return {
    async list(firstDay, trainerIds) {
      const sightings: Sighting[] = [];
      const wanted = { from: firstDay, to: lastDay, trainerIds };
      for (const told of [imports.sightings(wanted), imports.takenBack(wanted)]) {
        for await (const sighting of told) sightings.push(sighting);
      }
      return sightings;
    },

    trainerIds: (page) => imports.trainerIds(page),
  };
}
