import type { Adapter } from '../../src/adapters/adapter.ts';
import { createMemoryTool, type MemoryTool } from './memory-tool.ts';

/** A tool that tells how long each member has worked on each day, as the test says. */
export interface WorkingTool {
  adapter: Adapter;
  memory: MemoryTool;
  /** Counts on this day from now on. */
  work(day: string, memberId: string, hours: number): void;
}

export function createWorkingTool(): WorkingTool {
  const memory = createMemoryTool('membership', { lists: true });
  const days = new Map<string, Map<string, number>>();
  const usage = { counts: ['seconds' as const], outlivesRemoval: true };
  return {
    memory,
    work(day, memberId, hours) {
      days.set(day, (days.get(day) ?? new Map()).set(memberId, hours));
    },
    adapter: {
      ...memory.adapter,
      capabilities: { ...memory.adapter.capabilities, usage },
      usageScopeFor: ({ externalProjectId }) => externalProjectId,
      async *readUsage() {
        for (const [day, hours] of days) {
          for (const [memberId, some] of hours) yield { memberId, of: 'day', day, seconds: some * 3600 };
        }
      },
    },
  };
}
