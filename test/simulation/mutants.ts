import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { type LiveMutant, liveMutants } from './live-mutants.ts';

/**
 * `npm run simulate:mutants`: breaks one rule at a time, in memory, and simulates seed after seed until one fails. If none
 * fails, the simulation does not test that rule. `--only brake` selects mutants whose rule or file contains the word, and
 * `--no-shorten` does not shorten failing seeds.
 *
 * Each mutant runs in a process of its own (`--child`), because a loaded module stays loaded.
 */
const { values } = parseArgs({
  allowNegative: true,
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '60' },
    days: { type: 'string', default: '0.2' },
    only: { type: 'string', default: '' },
    shorten: { type: 'boolean', default: true },
    child: { type: 'string' },
    broken: { type: 'boolean', default: true },
  },
});
const stormMin = Number(values.days) * 1440;
const quietMin = 8 * 1440;

interface Death {
  seed: number;
  steps: number;
  stepsLeft: number;
  wrong: string;
}

const print = (line: string) => void process.stdout.write(`${line}\n`);
const first = Number(values.seed);
const last = first + Number(values.seeds) - 1;

if (values.child === undefined) {
  const chosen = liveMutants.filter(({ rule, file }) => `${rule} ${file}`.includes(values.only));
  let lived = 0;
  print('| rule that was broken | in | seed | steps | what was wrong |');
  print('|---|---|---|---|---|');
  for (const mutant of chosen) {
    const death = await kill(mutant);
    if (death === null) lived += 1;
    print(toLine(mutant, death));
  }
  print(`${chosen.length} mutants, ${lived} lived through ${values.seeds} seeds`);
  process.exit(lived === 0 ? 0 : 1);
}

const mutant = liveMutants[Number(values.child)] as LiveMutant;
if (values.broken) breakRule(mutant);
// Only after the rule is broken, and after the clockwork has replaced Node's own functions.
await import('./clockwork.ts');
const { closeAllServers } = await import('./network.ts');
const { live, shrink, simulate } = await import('./run.ts');
print(JSON.stringify(await die(mutant)));
process.exit(0);

function toLine({ rule, file }: LiveMutant, death: Death | null): string {
  if (death === null) return `| ${rule} | \`${file}\` | **lived** | | |`;
  const steps = values.shorten ? `${death.steps}, ${death.stepsLeft} are enough` : death.steps;
  return `| ${rule} | \`${file}\` | ${death.seed} | ${steps} | ${death.wrong} |`;
}

/** @returns the first seed that fails with the mutant and passes without it */
async function kill(broken: LiveMutant): Promise<Death | null> {
  if (readFileSync(broken.file, 'utf8').split(broken.find).length !== 2) {
    throw new Error(`${broken.file} no longer has the one place of “${broken.rule}”`);
  }
  for (let seed = first; seed <= last; ) {
    const death = await inChild(broken, seed, ['--broken', values.shorten ? '--shorten' : '--no-shorten']);
    if (death === null) return null;
    if ((await inChild(broken, death.seed, ['--no-broken', '--no-shorten', '--seeds=1'])) === null) return death;
    print(`Seed ${death.seed} is red without a mutant too: ${death.wrong}`);
    seed = death.seed + 1;
  }
  return null;
}

async function inChild(broken: LiveMutant, seed: number, how: readonly string[]): Promise<Death | null> {
  const given = { child: liveMutants.indexOf(broken), seed, seeds: last - seed + 1, days: values.days };
  const options = Object.entries(given).map(([name, value]) => `--${name}=${value}`);
  const all = [import.meta.filename, ...options, ...how];
  const { stdout } = await promisify(execFile)(process.execPath, all, { maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(stdout) as Death | null;
}

/** Replaces the code while it is loaded. The file is not changed. */
function breakRule({ file, find, replace }: LiveMutant): void {
  const broken = pathToFileURL(path.resolve(file)).href;
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      return url === broken ? { ...loaded, source: String(loaded.source).replace(find, () => replace) } : loaded;
    },
  });
}

async function die({ isSlow = false, isQuiet = false, leaning }: LiveMutant): Promise<Death | null> {
  const how = { isBrief: !isSlow && !isQuiet, isQuiet, leaning };
  const forMin = isQuiet ? quietMin : stormMin;
  for (let seed = first; seed <= last; seed += 1) {
    closeAllServers();
    const told = await live(simulate(seed, forMin, how)).catch((error: Error) => error);
    if (told instanceof Error) return { seed, steps: 0, stepsLeft: 0, wrong: told.message };
    if (told.wrongs.length === 0) continue;
    const steps = told.steps.length;
    const { steps: left, wrongs } = values.shorten ? await shrink(seed, forMin, how) : told;
    return { seed, steps, stepsLeft: left.length, wrong: wrongs[0]?.slice('MM-DDTHH:MM:SS '.length) ?? '' };
  }
  return null;
}
