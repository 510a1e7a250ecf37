import { createRandom } from '../../support/random.ts';
import type { Project } from './facts.ts';

/** A step. Its numbers, from 0 to 1, choose among the objects of that time, so that any step may be left out. */
export interface Step {
  does: StepName;
  a: number;
  b: number;
  c: number;
}

/** The frequency of each step. */
const weights = {
  hours: 30,
  read: 20,
  report: 18,
  piece: 14,
  edit: 9,
  erase: 4,
  day: 6,
  total: 5,
  hire: 9,
  end: 6,
  redate: 4,
  import: 9,
  undo: 3,
  decide: 9,
  late: 7,
  soon: 5,
  refuse: 3,
  allow: 3,
  arrive: 3,
} as const;

export type StepName = keyof typeof weights;

export interface Plan {
  seed: number;
  startMs: number;
  zones: Record<Project, string>;
  keepsDeleted: boolean;
  maxLoweredFraction: number;
  steps: Step[];
}

/** Clocks change in the first two within weeks that begin here. */
const starts = ['2026-03-20T12:00:00Z', '2026-03-01T21:00:00Z', '2026-10-15T05:00:00Z', '2026-06-01T00:30:00Z'];
const zones = ['Europe/Berlin', 'America/Los_Angeles', 'UTC', 'Pacific/Kiritimati', 'Asia/Kolkata'];
const stepCount = 50;

export function drawPlan(seed: number): Plan {
  const random = createRandom(seed);
  const pick = <T>(list: readonly [T, ...T[]] | readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const names = Object.entries(weights).flatMap(([name, weight]) => Array<StepName>(weight).fill(name as StepName));
  const draw = (does: StepName): Step => ({ does, a: random(), b: random(), c: random() });
  return {
    seed,
    startMs: Date.parse(pick(starts)),
    zones: { pieces: pick(zones), days: pick(zones), totals: pick(zones) },
    keepsDeleted: random() < 0.6,
    maxLoweredFraction: pick([1, 1, 0.2, 0]),
    steps: [draw('hire'), ...Array.from({ length: stepCount }, () => draw(pick(names)))],
  };
}
