/** The list in parts of at most `size` items. */
export function chunksOf<T>(all: readonly T[], size: number): T[][] {
  const count = Math.ceil(all.length / size);
  return Array.from({ length: count }, (_, index) => all.slice(index * size, (index + 1) * size));
}

/**
 * Like `Promise.all` over `map`, with at most `atOnce` items at the same time. After a failure it begins no other item, and
 * throws when the items under way have ended.
 */
export async function mapAtOnce<T, R>(items: readonly T[], atOnce: number, map: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  let hasFailed = false;
  async function work(): Promise<void> {
    for (const [index, item] of waiting) {
      if (hasFailed) return;
      try {
        results[index] = await map(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, work));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
  return results;
}
