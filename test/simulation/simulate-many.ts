import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

/**
 * `npm run simulate:many -- --minutes 60`: simulations in as many processes as there are processors, by some seeds at a
 * time, until all are lived through or the time is over. It passes on what they say of red seeds, and sums up.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '5000' },
    days: { type: 'string', default: '1' },
    brief: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '600' },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
});
const [first, seeds, minutes] = [values.seed, values.seeds, values.minutes].map(Number) as [number, number, number];
const atATime = 10;
const endMs = Date.now() + minutes * 60_000;
const summary = /^(\d+) passed, (\d+) failed: ([\d.]+) simulated days, (\d+) turns/;
const sum = { passed: 0, failed: 0, days: 0, turns: 0 };
let next = first;

await Promise.all(Array.from({ length: Number(values.processes) }, liveOn));
const told = `${sum.passed} passed, ${sum.failed} failed: ${sum.days.toFixed(1)} simulated days, ${sum.turns} turns`;
process.stdout.write(`seeds ${first} to ${next - 1}: ${told}\n`);
process.exit(sum.failed === 0 ? 0 : 1);

async function liveOn(): Promise<void> {
  while (next < first + seeds && Date.now() < endMs) {
    const from = next;
    next = Math.min(from + atATime, first + seeds);
    await liveThrough(from, next - from);
  }
}

async function liveThrough(seed: number, count: number): Promise<void> {
  const given = ['--seed', String(seed), '--seeds', String(count), '--days', values.days];
  const lines = (await run([...given, ...(values.brief ? ['--brief'] : [])])).trim().split('\n');
  const found = summary.exec(lines.at(-1) ?? '');
  const others = found === null ? lines : lines.slice(0, -1);
  if (others.length > 0) process.stdout.write(`${others.join('\n')}\n`);
  // A process that ends without its summary has failed, whatever the reason.
  const [passed = 0, failed = count, days = 0, turns = 0] = found?.slice(1).map(Number) ?? [];
  sum.passed += passed;
  sum.failed += failed;
  sum.days += days;
  sum.turns += turns;
}

/** It fails where a seed is red, which it has said. */
function run(given: string[]): Promise<string> {
  const script = new URL('./simulate.ts', import.meta.url).pathname;
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...given], { maxBuffer: 2 ** 26 }, (_error, stdout, stderr) => {
      resolve(stdout || stderr);
    });
  });
}
