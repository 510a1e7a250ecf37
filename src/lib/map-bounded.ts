/** As `Promise.all` over `map`, with at most `limit` under way at the same time. */
export async function mapBounded<T, R>(items: readonly T[], limit: number, map: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = items.entries();
  async function work(): Promise<void> {
    for (const [index, item] of left) results[index] = await map(item);
  }
  await Promise.all(Array.from({ length: limit }, work));
  return results;
}
