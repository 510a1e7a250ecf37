import { compareBytes } from '../../db/byte-order.ts';
import type { ObservationSource, TrainerPage } from './observation-store.ts';

/** Merges the trainers of all sources into one page, sorted, each trainer once. */
export async function listTrainers(sources: readonly ObservationSource[], page: TrainerPage): Promise<string[]> {
  const all = await Promise.all(sources.map((source) => source.trainerIds(page)));
  return [...new Set(all.flat())].sort(compareBytes).slice(0, page.limit);
}
