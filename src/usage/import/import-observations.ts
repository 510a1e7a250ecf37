import type { Database } from '../../db/database.ts';
import type { Observation } from '../../domain/usage.ts';
import type { ObservationSource } from '../read/observation-store.ts';
import { createImportStore } from './import-store.ts';

const lastDay = '9999-12-31';

/** The imports as a source of work, beside the tools. */
export function createImportObservations(database: Database): ObservationSource {
  const imports = createImportStore(database);
  return {
    async list(firstDay, trainerIds) {
      const observations: Observation[] = [];
      const wanted = { from: firstDay, to: lastDay, trainerIds };
      for (const some of [imports.observations(wanted), imports.takenBack(wanted)]) {
        for await (const observation of some) observations.push(observation);
      }
      return observations;
    },

    trainerIds: (page) => imports.trainerIds(page),
  };
}
