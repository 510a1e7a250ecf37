/** Some two megabytes; more than a day of most installs. */
const usualSize = 10_000;

/**
 * The ids of the latest deliveries. They are not signed, so nothing is decided by them: they are only counted.
 *
 * In memory, as an index of them costs more than all else about a delivery: they are random, so in a large inbox each
 * lies in a page of its own. It remembers at least the last `size`, and less than twice as many: to forget one by one
 * would cost more with each.
 */
export function createRecentIds(size = usualSize) {
  let older = new Set<string>();
  let latest = new Set<string>();
  return {
    /** Whether the install has sent a delivery with this id; from now on it has. */
    meet(install: string, deliveryId: string): boolean {
      const id = `${install}/${deliveryId}`;
      if (latest.has(id) || older.has(id)) return true;
      if (latest.size >= size) [older, latest] = [latest, new Set()];
      latest.add(id);
      return false;
    },
  };
}
