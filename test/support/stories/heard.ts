/**
 * What the bridge has heard from the marketplace: facts, each with when it came in and as of when it was
 * true. What came in between a backup and its restoring was never heard.
 */
export interface Heard {
  note(fact: string, asOfMs: number, atMs: number): void;
  /** Whether it was heard as of then or later. */
  knows(fact: string, sinceMs: number, nowMs: number): boolean;
  /** As of when it was heard last; undefined where it never was. */
  lastAsOf(fact: string, nowMs: number): number | undefined;
  /** When it was heard last. */
  lastAt(fact: string, nowMs: number): number | undefined;
  /** The database is that of then. */
  forget(fromMs: number): void;
}

interface Telling {
  asOfMs: number;
  atMs: number;
}

export function createHeard(): Heard {
  const facts = new Map<string, Telling[]>();
  return {
    note(fact, asOfMs, atMs) {
      const tellings = facts.get(fact) ?? [];
      tellings.push({ asOfMs, atMs });
      facts.set(fact, tellings);
    },
    knows: (fact, sinceMs, nowMs) =>
      (facts.get(fact) ?? []).some(({ asOfMs, atMs }) => asOfMs >= sinceMs && atMs <= nowMs),
    lastAsOf: (fact, nowMs) => facts.get(fact)?.findLast(({ atMs }) => atMs <= nowMs)?.asOfMs,
    lastAt: (fact, nowMs) => facts.get(fact)?.findLast(({ atMs }) => atMs <= nowMs)?.atMs,
    forget(fromMs) {
      for (const [fact, tellings] of facts) {
        facts.set(
          fact,
          tellings.filter(({ atMs }) => atMs < fromMs),
        );
      }
    },
  };
}
