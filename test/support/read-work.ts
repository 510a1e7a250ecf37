import type { Adapter, UsageNote, UsageObservation, UsageRequest } from '../../src/adapters/adapter.ts';

/** What one reading of a work scope lists. */
export interface ReadWork {
  work: UsageObservation[];
  /** The tasks that there are. */
  tasks: string[];
  /** What the tool could not say, in words. */
  gaps: string[];
}

export async function readWork(
  adapter: Adapter,
  scope: string,
  request: UsageRequest,
  signal: AbortSignal,
): Promise<ReadWork> {
  return await collectWork(adapter.readUsage?.(scope, request, signal) ?? []);
}

export async function collectWork(
  reading: AsyncIterable<UsageObservation | UsageNote> | readonly never[],
): Promise<ReadWork> {
  const read: ReadWork = { work: [], tasks: [], gaps: [] };
  for await (const one of reading) {
    if (one.of === 'task') read.tasks.push(one.taskId);
    else if (one.of === 'gap') read.gaps.push(one.says);
    else read.work.push(one);
  }
  return read;
}
