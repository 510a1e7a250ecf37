/**
 * Reads that looked for something and did not find it, as a register. One absence is a hiccup; two,
 * at least 10 minutes apart and with no observation after the first, are evidence that it is gone.
 *
 * Kept are the latest of each 10 minutes, and of those the last three: enough for two that are far
 * enough apart, however often is read. Merging is commutative, associative and idempotent.
 */

/** Instants, oldest first, separated by spaces; null where nothing was ever missed. */
export type Absences = string | null;

const apartMs = 10 * 60_000;
const kept = 3;

export function mergeAbsences(a: Absences, b: Absences): Absences {
  const latest = new Map<number, string>();
  for (const at of [...listAbsences(a), ...listAbsences(b)]) {
    const slot = Math.floor(Date.parse(at) / apartMs);
    const same = latest.get(slot);
    if (same === undefined || same < at) latest.set(slot, at);
  }
  const instants = [...latest.values()].sort().slice(-kept);
  return instants.length === 0 ? null : instants.join(' ');
}

/** @returns when the absences since it was last seen were enough; null where they are not */
export function goneSince(absences: Absences, lastSeenAt: string | null): string | null {
  const since = listAbsences(absences).filter((at) => lastSeenAt === null || at > lastSeenAt);
  const [first] = since;
  if (first === undefined) return null;
  return since.find((at) => Date.parse(at) - Date.parse(first) >= apartMs) ?? null;
}

/** Whether it was looked for and not found since it was last seen. */
export function isMissed(absences: Absences, lastSeenAt: string | null): boolean {
  return listAbsences(absences).some((at) => lastSeenAt === null || at > lastSeenAt);
}

function listAbsences(absences: Absences): string[] {
  return absences === null ? [] : absences.split(' ');
}
