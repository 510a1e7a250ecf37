import { clockwork } from './clockwork.ts';
import { closeAllServers } from './network.ts';
import type { StepKind } from './plan.ts';

/**
 * `npm run simulate -- --seed 7 --days 2`: simulates the days of a seed, which are the same each time, and checks what must
 * hold (test/simulation/checks.ts) at every change of the tool and every ten minutes. A failing seed is shortened.
 * `--brief` leaves out steps that take many hours to recover from, `--often` makes kinds of steps eight times as frequent,
 * `--quiet` simulates weeks in which little happens, and `--each` reports each seed, for a program.
 *
 * The parts below are imported after the clockwork has replaced Node's own functions.
 */
const { live, simulate, shrink } = await import('./run.ts');
const { parseArgs } = await import('node:util');

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    days: { type: 'string', default: '1' },
    without: { type: 'string' },
    often: { type: 'string' },
    brief: { type: 'boolean', default: false },
    quiet: { type: 'boolean', default: false },
    log: { type: 'boolean', default: false },
    each: { type: 'boolean', default: false },
  },
});
const [first, count] = [Number(values.seed), Number(values.seeds)];
const stormMin = Number(values.days) * 1440;
const manner = {
  isBrief: values.brief,
  isQuiet: values.quiet,
  ...(values.often !== undefined && { leaning: { often: values.often.split(',') as StepKind[] } }),
};
/** Shortening a seed takes some minutes. */
const mostShortened = 3;
const print = (line: string) => void process.stdout.write(`${line}\n`);
const beganMs = clockwork.realMs();
let red = 0;
let livedMin = 0;
let turns = 0;
for (let seed = first; seed < first + count; seed += 1) {
  closeAllServers();
  const only = values.without?.split(',').map(Number);
  const how = { log: values.log ? print : undefined, without: new Set(only), ...manner };
  const told = await live(simulate(seed, stormMin, how));
  livedMin += told.livedMin;
  turns += clockwork.turns();
  if (values.each)
    print(
      `seed ${seed} ${told.wrongs.length === 0 ? 'passed' : 'failed'}: ${sayLived(told.livedMin, clockwork.turns())}`,
    );
  if (told.wrongs.length === 0) continue;
  red += 1;
  print(`seed ${seed}: ${told.wrongs.join('; ')}`);
  // A run with steps left out by hand is only reported, not shortened.
  if (values.log || only !== undefined || red > mostShortened) continue;
  const { without, steps, wrongs } = await shrink(seed, stormMin, manner);
  print(`  shortened to ${steps.length} steps: ${wrongs.join('; ')}`);
  for (const step of steps)
    print(
      `    ${step.atMin} min: ${step.kind} ${step.customer} ${step.which.toFixed(2)} ${step.other.toFixed(2)} ${step.forMin} min`,
    );
  const flags = (['brief', 'quiet'] as const).filter((name) => values[name]).map((name) => `--${name} `);
  const often = values.often ? `--often ${values.often} ` : '';
  const days = `--days ${values.days} ${flags.join('')}${often}`;
  print(`  again: npm run simulate -- --seed ${seed} ${days}--without ${[...without].join()} --log`);
}
const seconds = (clockwork.realMs() - beganMs) / 1000;
if (!values.each)
  print(`${count - red} passed, ${red} failed: ${sayLived(livedMin, turns)}, in ${seconds.toFixed(0)} s`);
process.exit(red === 0 ? 0 : 1);

function sayLived(min: number, taken: number): string {
  return `${(min / 1440).toFixed(3)} simulated days, ${taken} turns`;
}
