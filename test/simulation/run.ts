import { createChecks } from './checks.ts';
import { clockwork } from './clockwork.ts';
import { closeAllServers } from './network.ts';
import { drawPlan, type Manner, type Plan, type Step, type StepKind } from './plan.ts';
import { openWorld, type World } from './world.ts';

export interface Told {
  wrongs: string[];
  steps: Step[];
  livedMin: number;
}

interface How extends Manner {
  log?: ((line: string) => void) | undefined;
  /** The numbers of steps that are left out. */
  without?: ReadonlySet<number>;
  /** Whether steps that take many hours to recover from are left out. */
  isBrief?: boolean;
  /** Stops at this minute, without the checks at the end. */
  untilMin?: number;
}

const minuteMs = 60_000;
const beginMs = Date.UTC(2026, 2, 2);
/** How long after the storm everything may take to become right. */
const calmMin = { usual: 3 * 60, slow: 16 * 60, slowest: 30 * 60 };
/** Steps that only show in two readings of a contract's people, which are read every six hours. */
const slow: ReadonlySet<StepKind> = new Set([
  'replace',
  'restored',
  'database_lost',
  'tool_restored',
  'hand_removes',
  'lists_empty',
  'answers_miss',
]);
/** Steps with the longest grace period. */
const slowest: ReadonlySet<StepKind> = new Set(['reconnect', 'unlink', 'link']);
const lookEveryMin = 10;
const approveEveryMin = 30;
/** How long after the last fault there is still much to do. */
const busyMin = 60;

/** Lets time pass until a promise of the simulation settles. */
export async function live<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  work
    .catch(() => undefined)
    .finally(() => {
      isDone = true;
    });
  await clockwork.run(() => isDone);
  return await work;
}

/** Simulates one plan on its own clock. */
export async function simulate(
  seed: number,
  stormMin: number,
  {
    log = () => undefined,
    without = new Set(),
    isBrief = false,
    untilMin = Number.POSITIVE_INFINITY,
    ...manner
  }: How = {},
): Promise<Told> {
  const plan = drawPlan(seed, stormMin, manner);
  const isLong = ({ kind }: Step) => slow.has(kind) || slowest.has(kind);
  const steps = plan.steps.filter((step, index) => !without.has(index) && !(isBrief && isLong(step)));
  clockwork.reset(seed, beginMs);
  closeAllServers();
  const world = await openWorld(plan, log);
  const checks = createChecks(world);
  const goesOn = () => checks.wrongs().length === 0 && clockwork.nowMs() < beginMs + untilMin * minuteMs;
  const livedMin = await liveThrough(world, { ...plan, steps }, { goesOn, look: checks.look });
  if (goesOn()) await checks.lookAtEnd();
  await world.close();
  return { wrongs: checks.wrongs(), steps, livedMin };
}

/** The checks during a run. */
interface Lookout {
  look(): Promise<void>;
  /** Whether there is any point in going on. */
  goesOn(): boolean;
}

/** Runs a storm and the calm after it. @returns how many minutes they lasted */
async function liveThrough(
  world: World,
  { steps, stormMin, isQuiet }: Pick<Plan, 'steps' | 'stormMin' | 'isQuiet'>,
  lookout: Lookout,
): Promise<number> {
  const lived = createMinutes(lookout);
  await weather(world, steps, stormMin, lived);
  await rest(world, lived, isQuiet ? calmMin.slowest : calmAfter(steps));
  return lived.min();
}

interface Minutes {
  min(): number;
  /** Simulates one more minute. @returns whether there is any point in going on */
  pass(): Promise<boolean>;
}

function createMinutes({ look, goesOn }: Lookout): Minutes {
  let atMin = 0;
  return {
    min: () => atMin,
    async pass() {
      await clockwork.wait(minuteMs);
      atMin += 1;
      if (atMin % lookEveryMin === 0) await look();
      return goesOn();
    },
  };
}

function calmAfter(steps: readonly Step[]): number {
  if (steps.some(({ kind }) => slowest.has(kind))) return calmMin.slowest;
  return steps.some(({ kind }) => slow.has(kind)) ? calmMin.slow : calmMin.usual;
}

/** Runs the steps. They take time, and others begin meanwhile. */
async function weather(world: World, steps: readonly Step[], stormMin: number, lived: Minutes): Promise<void> {
  const waiting = [...steps];
  const underway = new Set<Promise<void>>();
  let lastMin = 0;
  while (lived.min() < stormMin) {
    while ((waiting[0]?.atMin ?? Number.POSITIVE_INFINITY) <= lived.min()) {
      const happening = world.happen(waiting.shift() as Step).finally(() => underway.delete(happening));
      underway.add(happening);
    }
    const isQuiet = underway.size === 0 && clockwork.nowMs() > world.troubles.calmSinceMs();
    if (!isQuiet) lastMin = lived.min();
    clockwork.setIdle(lived.min() - lastMin > busyMin);
    if (!(await lived.pass())) return;
  }
  clockwork.setIdle(false);
  await Promise.all(underway);
}

async function rest(world: World, lived: Minutes, forMin: number): Promise<void> {
  await world.calm();
  const beganMin = lived.min();
  for (let min = 0; min < forMin; min = lived.min() - beganMin) {
    if (min === busyMin) clockwork.setIdle(true);
    if (min % approveEveryMin === 0) {
      await world.fleet.settleDoubts();
      await world.fleet.approveAll();
    }
    if (!(await lived.pass())) return;
  }
}

/** With fewer steps, the same failure may show a little later. */
const waitMin = 60;

/**
 * Leaves out steps while the run still fails: first those after the failure, then halves, quarters, and finally single
 * steps. No attempt runs much longer than the first, because weeks would take hours.
 */
export async function shrink(seed: number, stormMin: number, how: Omit<How, 'log' | 'without' | 'untilMin'> = {}) {
  const first = await live(simulate(seed, stormMin, how));
  const hasBegun = ({ atMin }: Step) => atMin <= first.livedMin;
  const { steps } = drawPlan(seed, stormMin, how);
  const all = steps.map((_, index) => index);
  let without = new Set(steps.flatMap((step, index) => (hasBegun(step) ? [] : [index])));
  let last = { ...first, steps: first.steps.filter(hasBegun) };
  const untilMin = first.livedMin + waitMin;
  for (let size = Math.ceil(all.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < all.length; from += size) {
      const part = all.slice(from, from + size).filter((index) => !without.has(index));
      if (part.length === 0) continue;
      const fewer = new Set([...without, ...part]);
      const told = await live(simulate(seed, stormMin, { ...how, without: fewer, untilMin }));
      if (told.wrongs.length === 0) continue;
      without = fewer;
      last = told;
    }
  }
  return { without, ...last };
}
