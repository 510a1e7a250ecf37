import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { describe, kindOf, openWeeks } from './live-week.ts';
import { drawPlan } from './plan.ts';

/**
 * `npm run test:weeks -- --weeks 10000`: random histories in as many processes as there are processors. Of the first
 * seeds that fail it prints a history that is as short as it still fails in the same way.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    weeks: { type: 'string', default: '10000' },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
});
const [first, count, processes] = [values.seed, values.weeks, values.processes].map(Number) as [number, number, number];
const mostDescribed = 5;
const tellEvery = 500;

if (processes > 1) process.exitCode = await runBeside();
else process.exitCode = await runHere();

/** @returns the exit code */
async function runBeside(): Promise<number> {
  const part = Math.ceil(count / processes);
  const codes = Array.from({ length: Math.ceil(count / part) }, (_, index) => {
    const [seed, weeks] = [first + index * part, Math.min(part, count - index * part)];
    const given = ['--seed', String(seed), '--weeks', String(weeks), '--processes', '1'];
    const child = spawn(process.execPath, [new URL(import.meta.url).pathname, ...given], { stdio: 'inherit' });
    return new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
  });
  return Math.max(...(await Promise.all(codes)));
}

async function runHere(): Promise<number> {
  const weeks = await openWeeks();
  const failed: { seed: number; kind: string }[] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const faults = await weeks.live(drawPlan(seed));
    if (faults.length > 0) {
      failed.push({ seed, kind: kindOf(faults) });
      if (failed.length <= mostDescribed) print(await describe(weeks, seed));
    }
    const done = seed - first + 1;
    if (done % tellEvery === 0 || done === count) print(`seeds ${first} to ${seed}: ${failed.length} failed`);
  }
  for (const [kind, some] of Map.groupBy(failed, (one) => one.kind)) {
    print(`failed: ${kind.trim()}: ${some.map(({ seed }) => seed).join(', ')}`);
  }
  await weeks.close();
  return failed.length === 0 ? 0 : 1;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
