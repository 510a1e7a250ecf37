import { type FileHandle, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** A file of its own beside the database, written and flushed again and again: what the disk itself takes. */
export interface DiskProbe {
  /** Milliseconds of each flush since this was asked before. */
  takeFlushMs(): number[];
  stop(): Promise<void>;
}

const everyMs = 50;
/** As much as a page of a database. */
const page = Buffer.alloc(4096, 1);

/** @param folder on the disk that is asked */
export async function openDiskProbe(folder: string): Promise<DiskProbe> {
  const file = path.join(folder, 'disk-probe');
  const handle = await open(file, 'w');
  let flushMs: number[] = [];
  let isStopping = false;

  async function flushUntilStopped(): Promise<void> {
    while (!isStopping) {
      flushMs.push(await timeOfFlush(handle));
      await wait(everyMs);
    }
  }

  const flushing = flushUntilStopped();
  return {
    takeFlushMs() {
      const taken = flushMs;
      flushMs = [];
      return taken;
    },
    async stop() {
      isStopping = true;
      await flushing;
      await handle.close();
      await rm(file);
    },
  };
}

async function timeOfFlush(handle: FileHandle): Promise<number> {
  const begunAt = performance.now();
  await handle.write(page, 0, page.length, 0);
  await handle.datasync();
  return performance.now() - begunAt;
}
