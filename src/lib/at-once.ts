/**
 * Does `work` for each item in order, at most `atOnce` at the same time. After a failure it begins no
 * other item, and throws when those under way have ended.
 */
export async function forEachAtOnce<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  let hasFailed = false;
  async function workOn(): Promise<void> {
    for (const item of waiting) {
      if (hasFailed) return;
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, workOn));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}
