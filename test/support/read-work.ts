import type { Adapter, UsageNote, UsageObservation, UsageRequest } from '../../src/adapters/adapter.ts';

/** What a reading of one place tells. */
export interface ToldWork {
  work: UsageObservation[];
  /** The tasks that there are. */
  tasks: string[];
  /** What the tool could not tell. */
  gaps: string[];
}

export async function readWork(
  adapter: Adapter,
  scope: string,
  request: UsageRequest,
  signal: AbortSignal,
): Promise<ToldWork> {
  return await collectWork(adapter.readUsage?.(scope, request, signal) ?? []);
}

export async function collectWork(
  reading: AsyncIterable<UsageObservation | UsageNote> | readonly never[],
): Promise<ToldWork> {
  const told: ToldWork = { work: [], tasks: [], gaps: [] };
  for await (const one of reading) {
    if (one.of === 'task') told.tasks.push(one.taskId);
    else if (one.of === 'gap') told.gaps.push(one.says);
    else told.work.push(one);
  }
  return told;
}
