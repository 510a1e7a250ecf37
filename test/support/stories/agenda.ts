const minute = 60_000;

/** What is going to happen when, by the minute. */
export interface Agenda {
  at(ms: number, happen: (ms: number) => void): void;
  /** Has happen what is due by then, in the order of time. @returns whether there was anything */
  run(untilMs: number): boolean;
  /** The moment at which something happens just now; null between two moments. */
  momentMs(): number | null;
  /** When the last of all happens. */
  lastMs(): number;
}

interface Entry {
  ms: number;
  happen: (ms: number) => void;
}

export function createAgenda(): Agenda {
  const byMinute = new Map<number, Entry[]>();
  let momentMs: number | null = null;
  let lastMs = 0;
  /** What is asked for later than it is due happens in the minute that is under way. */
  let current = 0;

  function take(at: number): Entry[] {
    const due = byMinute.get(at) ?? [];
    byMinute.delete(at);
    return due.sort((a, b) => a.ms - b.ms);
  }

  return {
    momentMs: () => momentMs,
    lastMs: () => lastMs,
    at(ms, happen) {
      lastMs = Math.max(lastMs, ms);
      const at = Math.max(current, Math.ceil(ms / minute));
      byMinute.set(at, [...(byMinute.get(at) ?? []), { ms, happen }]);
    },
    run(untilMs) {
      current = Math.ceil(untilMs / minute);
      let hasHappened = false;
      for (let due = take(current); due.length > 0; due = take(current)) {
        hasHappened = true;
        for (const { ms, happen } of due) {
          momentMs = ms;
          happen(ms);
        }
      }
      momentMs = null;
      current += 1;
      return hasHappened;
    },
  };
}
