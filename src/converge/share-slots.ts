/**
 * Installs take turns in a tool. The install with the fewest running calls is next, and while others wait no install
 * gets more than half of the slots. Pure.
 *
 * @param waiting installs with work that is due; of two with the same number of calls, the first is next
 * @param underway the number of running calls of each install
 * @returns how many of the free slots each install gets
 */
export function shareSlots(
  waiting: readonly string[],
  underway: ReadonlyMap<string, number>,
  slots: number,
): Map<string, number> {
  const isContested = new Set([...waiting, ...underway.keys()]).size > 1;
  const most = isContested ? Math.max(1, Math.floor(slots / 2)) : slots;
  const counts = new Map(waiting.map((install) => [install, underway.get(install) ?? 0]));
  const shares = new Map<string, number>();
  let free = slots - [...underway.values()].reduce((sum, count) => sum + count, 0);
  for (; free > 0; free -= 1) {
    const [next] = [...counts].filter(([, count]) => count < most).sort(([, a], [, b]) => a - b);
    if (next === undefined) break;
    const [install, count] = next;
    counts.set(install, count + 1);
    shares.set(install, (shares.get(install) ?? 0) + 1);
  }
  return shares;
}
