import { setTimeout as wait } from 'node:timers/promises';
import type { Adapter } from '../../src/adapters/adapter.ts';

/** A tool in memory, so that Gangway alone is measured. */
export interface BenchTool {
  adapter: Adapter;
  countMembers(): number;
  /** Totals so far. `busyMs` adds up how long each call took. */
  measured(): { calls: number; busyMs: number };
}

interface BenchToolOptions {
  answerMs?: number;
  /** Called when somebody is let in. */
  onAdd?: (trainerId: string) => void;
}

export function createBenchTool({ answerMs = 0, onAdd }: BenchToolOptions = {}): BenchTool {
  /** The numbers in the ids of trainers, because texts would take memory that is measured too. */
  const present = new Set<number>();
  const numberOf = (trainerId: string) => Number(trainerId.replace(/\D+/, ''));
  let [calls, busyMs] = [0, 0];

  async function answer<T>(effect: () => T): Promise<T> {
    const begunAt = performance.now();
    if (answerMs > 0) await wait(answerMs);
    calls += 1;
    busyMs += performance.now() - begunAt;
    return effect();
  }

  return {
    countMembers: () => present.size,
    measured: () => ({ calls, busyMs }),
    adapter: {
      capabilities: { removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'membership' },
      check: async () => [],
      groupFor: ({ externalProjectId }) => externalProjectId,
      findMember: (_group, { trainerId: id, email }) =>
        answer(() => (present.has(numberOf(id)) ? { id, email } : null)),
      addMember: (_group, { trainerId: id, email }) =>
        answer(() => {
          onAdd?.(id);
          present.add(numberOf(id));
          return { id, email };
        }),
      removeMember: (_group, { id }) => answer(() => void present.delete(numberOf(id))),
    },
  };
}
