/** The ids of the latest deliveries. They are not signed, so nothing is decided by them: they are only counted. */
export interface RecentIds {
  /** Whether the install has sent a delivery with this id; from now on it has. */
  meet(install: string, deliveryId: string): boolean;
}

/** Two megabytes; more than a day of most installs. */
const usualSize = 10_000;

/**
 * In memory, as an index of them costs more than all else about a delivery: they are random, so in a large inbox each
 * lies in a page of its own.
 */
export function createRecentIds(size = usualSize): RecentIds {
  const ids = new Set<string>();
  return {
    meet(install, deliveryId) {
      const id = `${install}/${deliveryId}`;
      if (ids.has(id)) return true;
      const [oldest] = ids;
      if (ids.size >= size && oldest !== undefined) ids.delete(oldest);
      ids.add(id);
      return false;
    },
  };
}
