import { clockwork } from './clockwork.ts';
import { closeAllServers } from './network.ts';

/**
 * `npm run simulate:rules -- --seeds 20 --days 0.5`: the same days under Gangway and under the rules that others
 * document. It counts, for the customers of platforms, whom each took out although their contract went on, who was in
 * for hours after theirs had ended, and how often a person had to decide. `--quiet` draws weeks on which little happens.
 * After `--minutes` no other seed begins.
 */
const { parseArgs } = await import('node:util');
const { live } = await import('./run.ts');
const { drawPlan } = await import('./plan.ts');
const { openWorld } = await import('./world.ts');
const { openRival, rules } = await import('./rival.ts');
const { createTally } = await import('./tally.ts');
const { liveThrough } = await import('./run.ts');

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '10' },
    days: { type: 'string', default: '0.5' },
    quiet: { type: 'boolean', default: false },
    only: { type: 'string' },
    minutes: { type: 'string', default: '600' },
  },
});
const stormMin = Number(values.days) * 1440;
const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => Number(values.seed) + index);
const print = (line: string) => void process.stdout.write(`${line}\n`);

const contenders = [
  { name: 'gangway', says: 'Gangway', brake: true },
  { name: 'gangway without brake', says: 'Gangway, `removals` without limits', brake: false },
  ...rules.map((rule) => ({ ...rule, brake: false })),
].filter(({ name }) => values.only === undefined || values.only.split(',').includes(name));

const endMs = clockwork.realMs() + Number(values.minutes) * 60_000;
const sums = new Map(contenders.map(({ name }) => [name, { wrong: 0, late: 0, decisions: 0, min: 0 }]));
for (const seed of seeds) {
  if (clockwork.realMs() > endMs) break;
  // All live through the same days, whenever it ends.
  for (const { name, brake } of contenders) {
    clockwork.reset(seed, Date.UTC(2026, 2, 2));
    closeAllServers();
    const plan = { ...drawPlan(seed, stormMin, { isQuiet: values.quiet }), hasBrake: brake };
    const told = await live(tell(plan, rules.find((one) => one.name === name)?.name));
    const sum = sums.get(name);
    if (sum === undefined) continue;
    for (const key of ['wrong', 'late', 'decisions', 'min'] as const) sum[key] += told[key];
  }
}
print('| rule | days | wrong removals | late removals | decisions | wrong per 10,000 days |');
print('|---|---|---|---|---|---|');
for (const { name, says } of contenders) {
  const { wrong, late, decisions, min } = sums.get(name) ?? { wrong: 0, late: 0, decisions: 0, min: 0 };
  const days = min / 1440;
  print(
    `| ${says} | ${days.toFixed(0)} | ${wrong} | ${late} | ${decisions} | ${Math.round((wrong / days) * 10_000)} |`,
  );
}
process.exit(0);

async function tell(plan: ReturnType<typeof drawPlan>, rule: (typeof rules)[number]['name'] | undefined) {
  const open =
    rule === undefined ? undefined : (settings: Parameters<typeof openRival>[1]) => openRival(rule, settings);
  const world = await openWorld(plan, () => undefined, open);
  const tally = createTally(world);
  const min = await liveThrough(world, plan, tally);
  await world.close();
  return { ...tally.counts(), min };
}
