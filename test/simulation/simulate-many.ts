import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

/**
 * `npm run simulate:many -- --minutes 60`: runs simulations in one process per processor, a few seeds at a time because a
 * process grows with each. It prints their reports of failing seeds, its progress each minute, and a summary when all
 * seeds are done, the time is over, or it is stopped.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '5000' },
    days: { type: 'string', default: '1' },
    brief: { type: 'boolean', default: false },
    quiet: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '600' },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
});
const [first, seeds, minutes] = [values.seed, values.seeds, values.minutes].map(Number) as [number, number, number];
const flags = (['brief', 'quiet'] as const).filter((name) => values[name]);
const atATime = 10;
const mostMiB = 1500;
const each = /^seed (\d+) (passed|failed): ([\d.]+) simulated days, (\d+) turns$/;
const sum = { days: 0, turns: 0 };
const passed: number[] = [];
const failed: number[] = [];
const ending = new AbortController();
let next = first;

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => ending.abort());
setTimeout(() => ending.abort(), minutes * 60_000).unref();
setInterval(() => print(tell()), 60_000).unref();
await Promise.all(Array.from({ length: Number(values.processes) }, liveOn));
print(tell());
if (failed.length > 0) print(`failed: ${failed.join(', ')}`);
if (passed.length === 0) print('No seed passed, so nothing is shown: give more --minutes, or fewer --days');
process.exit(failed.length === 0 && passed.length > 0 ? 0 : 1);

function tell(): string {
  const days = `${sum.days.toFixed(1)} simulated days, ${sum.turns} turns`;
  return `seeds ${first} to ${next - 1}: ${passed.length} passed, ${failed.length} failed: ${days}`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function liveOn(): Promise<void> {
  while (next < first + seeds && !ending.signal.aborted) {
    const from = next;
    next = Math.min(from + atATime, first + seeds);
    await liveThrough(from, next - from);
  }
}

/** Seeds that are running when it is stopped are not counted. */
async function liveThrough(seed: number, count: number): Promise<void> {
  const script = new URL('./simulate.ts', import.meta.url).pathname;
  const given = ['--each', '--seed', String(seed), '--seeds', String(count), '--days', values.days];
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${mostMiB}`, script, ...given, ...flags.map((name) => `--${name}`)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const end = () => child.kill();
  ending.signal.addEventListener('abort', end, { once: true });
  const told = new Set<number>();
  for await (const line of createInterface({ input: child.stdout })) {
    const found = each.exec(line);
    if (found === null) {
      print(line);
      continue;
    }
    const [one = 0, , days = 0, turns = 0] = found.slice(1).map(Number);
    told.add(one);
    (found[2] === 'passed' ? passed : failed).push(one);
    sum.days += days;
    sum.turns += turns;
  }
  ending.signal.removeEventListener('abort', end);
  if (ending.signal.aborted) return;
  // A seed that its process did not report has failed, whatever the reason.
  const all = Array.from({ length: count }, (_, index) => seed + index);
  failed.push(...all.filter((one) => !told.has(one)));
}
