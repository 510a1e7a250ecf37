/**
 * Installs take turns in a tool: the one that has least under way is next, and while others wait
 * none gets more than half. Pure.
 *
 * @param waiting installs for which something is due; of two that have the same, the first is next
 * @param underway how many calls each has under way now
 * @returns how many of the free slots each gets
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
