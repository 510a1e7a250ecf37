/**
 * A register of reads that looked for something and did not find it. One absence proves nothing. Two absences, at least
 * 10 minutes apart and with no observation after the first, prove that it is gone.
 *
 * The register keeps the latest absence of each 10 minutes, and the last three of those. That is enough to find two
 * that are far enough apart, however often reads happen. Merging is commutative, associative and idempotent.
 */

/** Instants, oldest first, separated by spaces. Null when there is no absence. */
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

/** @returns the instant of the absence that proved it gone; null while the absences do not prove it */
export function goneSince(absences: Absences, lastSeenAt: string | null): string | null {
  const since = listAbsences(absences).filter((at) => lastSeenAt === null || at > lastSeenAt);
  const [first] = since;
  if (first === undefined) return null;
  return since.find((at) => Date.parse(at) - Date.parse(first) >= apartMs) ?? null;
}

/** Whether there is an absence after the last observation. */
export function isMissed(absences: Absences, lastSeenAt: string | null): boolean {
  return listAbsences(absences).some((at) => lastSeenAt === null || at > lastSeenAt);
}

function listAbsences(absences: Absences): string[] {
  return absences === null ? [] : absences.split(' ');
}
