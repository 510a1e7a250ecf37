import type { Database } from '../../db/database.ts';
import type { Sighting } from '../../domain/usage.ts';
import type { SightingSource } from '../read/work-store.ts';
import { createImportStore } from './import-store.ts';

const lastDay = '9999-12-31';

/** What files say of the work that is due to be reported, as another source beside the tools. */
export function createImportSightings(database: Database): SightingSource {
  const imports = createImportStore(database);
  return {
    async list(firstDay, trainerIds) {
      const of = trainerIds === undefined ? undefined : new Set(trainerIds);
      const sightings: Sighting[] = [];
      const days = { from: firstDay, to: lastDay };
      for (const told of [imports.sightings(days), imports.takenBack(days)]) {
        for await (const sighting of told) {
          if (of === undefined || of.has(sighting.trainerId)) sightings.push(sighting);
        }
      }
      return sightings;
    },
  };
}
