import { setTimeout as wait } from 'node:timers/promises';
import { giveMemoryBack } from '../../src/lib/small-heap.ts';

/** A process that needs much memory for a moment. It writes how many MiB it keeps of that, before and after giving back. */
const peak = 100_000;
const usual = 20_000;

/** What is in use. */
const made: { last: object[] } = { last: [] };

async function work(size: number, rounds: number): Promise<number> {
  for (let round = 0; round < rounds; round += 1) {
    made.last = Array.from({ length: size }, (_, index) => ({ index, of: [index], named: `name-${index}` }));
    await wait(1);
  }
  return process.memoryUsage.rss() / 1024 / 1024;
}

await work(usual, 50);
await work(peak, 10);
const kept = await work(usual, 100);
const end = giveMemoryBack({ everyMs: 1 });
const left = await work(usual, 100);
end();
process.stdout.write(JSON.stringify({ kept, left }));
