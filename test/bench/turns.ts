import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { fullEvent, minimalEvent } from '../support/event-bodies.ts';
import { openWorld, type World } from './turns-world.ts';

/**
 * `npm run bench:turns`: how long one customer's people wait while another customer floods.
 *
 * A real `gangway start` (SQLite, one roster for both) and a sandbox whose events say as little as
 * the specification guarantees, so that every hire is read too. `globex` hires and lets go, first in
 * quiet and then while `acme` sends what it signed itself: 600 starts that have to be read and more
 * of them all the time; 12,000 people on one contract, and four events a second about it; 10,000
 * contracts of one person. From the hire at the marketplace to the name in the file, side by side in
 * one run. `--events` makes the floods smaller or larger.
 */
const { values } = parseArgs({
  options: {
    hires: { type: 'string', default: '20' },
    events: { type: 'string', default: '1' },
    folder: { type: 'string', default: '.' },
  },
});
const hires = Number(values.hires);
const share = Number(values.events);
const sendersAtOnce = 16;
let number = 0;

interface Flood {
  name: string;
  /** Sent before the first hire. */
  before: number;
  perSecond: number;
  toBody(index: number): string;
}

const floods: Flood[] = [
  {
    name: '600 starts to be read',
    before: 600,
    perSecond: 20,
    toBody: (index) => minimalEvent('contract.started', `forged-${index}`),
  },
  {
    name: '12,000 on one contract',
    before: 12_000,
    perSecond: 4,
    toBody: (index) => started({ contract: 'crowd', trainer: `t${index}` }),
  },
  {
    name: '10,000 contracts of one',
    before: 10_000,
    perSecond: 4,
    toBody: (index) => started({ contract: `c${index}`, trainer: 'busy' }),
  },
];

say('in ms                     hire: p50      p95   ratio   end: p50      p95   ratio   healthz max');
for (const flood of floods) await measure(flood);

async function measure({ name, before, perSecond, toBody }: Flood): Promise<void> {
  const world = await openWorld(values.folder);
  try {
    await hireAndEnd(world, 3);
    const quiet = await watched(world, () => hireAndEnd(world, hires));
    sayRow('quiet', quiet);
    await sendAll(world, Math.ceil(before * share), toBody);
    const stream = startStream(world, perSecond, toBody);
    const flooded = await watched(world, () => hireAndEnd(world, hires));
    await stream.stop();
    sayRow(name, flooded, quiet);
  } finally {
    await world.close();
  }
}

interface Measured {
  hired: number[];
  ended: number[];
  healthMs: number;
}

async function watched(world: World, work: () => Promise<Omit<Measured, 'healthMs'>>): Promise<Measured> {
  const stop = world.watchHealth();
  const measured = await work();
  return { ...measured, healthMs: await stop() };
}

/** One after the other, so that none waits for another of the same customer. */
async function hireAndEnd(world: World, count: number) {
  const hired: number[] = [];
  const ended: number[] = [];
  for (let done = 0; done < count; done += 1) {
    hired.push(await world.hire());
    ended.push(await world.end());
    await wait(100);
  }
  return { hired, ended };
}

async function sendAll(world: World, count: number, toBody: Flood['toBody']): Promise<void> {
  let left = count;
  const send = async () => {
    for (; left > 0; ) {
      left -= 1;
      number += 1;
      await world.forge(toBody(number));
    }
  };
  await Promise.all(Array.from({ length: sendersAtOnce }, send));
}

function startStream(world: World, perSecond: number, toBody: Flood['toBody']) {
  let isOver = false;
  const sending = (async () => {
    while (!isOver) {
      number += 1;
      await world.forge(toBody(number));
      await wait(1000 / perSecond);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await sending;
    },
  };
}

function started(wish: { contract: string; trainer: string }): string {
  const at = { id: String(7_000_000_000 + number), createdAt: new Date().toISOString() };
  const place = { link: 'acme-link', project: 'acme-signs' };
  return fullEvent({ type: 'contract.started', ...at, ...place, ...wish });
}

function sayRow(name: string, { hired, ended, healthMs }: Measured, quiet?: Measured): void {
  const toCells = (numbers: number[], before: number[] | undefined) => [
    at(numbers, 0.5).toFixed(0).padStart(9),
    at(numbers, 0.95).toFixed(0).padStart(8),
    (before === undefined ? '' : (at(numbers, 0.95) / at(before, 0.95)).toFixed(1)).padStart(7),
  ];
  const cells = [...toCells(hired, quiet?.hired), ...toCells(ended, quiet?.ended)];
  say(`${name.padEnd(26)}${cells.join(' ')}${healthMs.toFixed(0).padStart(14)}`);
}

function at(numbers: number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * part)] ?? 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
