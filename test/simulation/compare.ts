import { clockwork } from './clockwork.ts';
import { closeAllServers } from './network.ts';

/**
 * `npm run simulate:rules -- --seeds 20 --days 0.5`: the same days under Gangway and under the rules that others
 * document. It counts, for the customers of platforms, whom each took out although their contract went on, who was in
 * for hours after theirs had ended, and how often a person had to decide.
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
    only: { type: 'string' },
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

print('| rule | days | wrong removals | late removals | decisions | wrong per 10,000 days |');
print('|---|---|---|---|---|---|');
for (const { name, says, brake } of contenders) {
  const sum = { wrong: 0, late: 0, decisions: 0, min: 0 };
  for (const seed of seeds) {
    clockwork.reset(seed, Date.UTC(2026, 2, 2));
    closeAllServers();
    const plan = { ...drawPlan(seed, stormMin), hasBrake: brake };
    const rule = rules.find((one) => one.name === name)?.name;
    const told = await live(tell(plan, rule));
    for (const key of ['wrong', 'late', 'decisions', 'min'] as const) sum[key] += told[key];
  }
  const days = sum.min / 1440;
  const per = Math.round((sum.wrong / days) * 10_000);
  print(`| ${says} | ${days.toFixed(0)} | ${sum.wrong} | ${sum.late} | ${sum.decisions} | ${per} |`);
}
process.exit(0);

async function tell(plan: ReturnType<typeof drawPlan>, rule: (typeof rules)[number]['name'] | undefined) {
  const open =
    rule === undefined ? undefined : (settings: Parameters<typeof openRival>[1]) => openRival(rule, settings);
  const world = await openWorld(plan, () => undefined, open);
  const tally = createTally(world);
  const min = await liveThrough(world, plan.steps, stormMin, tally);
  await world.close();
  return { ...tally.counts(), min };
}
