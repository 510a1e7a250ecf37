import { compareBytes } from '../../db/byte-order.ts';
import type { ObservationSource, TrainerPage } from './observation-store.ts';

/** Everybody of whom any source tells, as one list: a page of it, in its order, each once. */
export async function listTrainers(sources: readonly ObservationSource[], page: TrainerPage): Promise<string[]> {
  const all = await Promise.all(sources.map((source) => source.trainerIds(page)));
  return [...new Set(all.flat())].sort(compareBytes).slice(0, page.limit);
}
