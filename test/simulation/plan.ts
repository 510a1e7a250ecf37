import type { ToolTraits } from './model-tool.ts';

/** What happens in a simulation. It is drawn from the seed in advance, so that parts of it can be left out. */

export const customers = ['acme', 'globex', 'own'] as const;
export type Customer = (typeof customers)[number];

export type StepKind = (typeof weights | typeof quietWeights)[number][0];

export interface Step {
  /** Minutes since the beginning. */
  atMin: number;
  kind: StepKind;
  customer: Customer;
  /** Chooses one of several, from 0 to below 1. */
  which: number;
  /** A second choice. */
  other: number;
  forMin: number;
}

export interface Plan {
  seed: number;
  /** How long things go wrong. After that nothing does, and in the end everything must be right. */
  stormMin: number;
  steps: Step[];
  /** Whether it covers weeks in which little happens, and data with a short retention is deleted. */
  isQuiet: boolean;
  hasBrake: boolean;
  isManaged: boolean;
  traits: ToolTraits;
}

/** How often each kind of step comes. */
const weights = [
  // What employers do.
  ['hire', 30],
  ['end', 14],
  ['renew', 8],
  ['renew_unheard', 2],
  ['crew', 2],
  ['pair', 2],
  ['rehire', 3],
  ['briefly', 4],
  ['replace', 3],
  ['unlink', 3],
  ['link', 5],
  ['reconnect', 1],
  ['new_address', 3],
  ['fund', 3],
  // What people do in the tool.
  ['work', 10],
  ['rework', 4],
  ['unwork', 2],
  ['own_address', 3],
  // What happens to events.
  ['events_lost', 4],
  ['events_mixed', 4],
  ['mistaken_end', 2],
  ['consent_withdrawn', 4],
  // What the marketplace answers.
  ['reads_fail', 3],
  ['reads_refused', 2],
  ['lists_cut', 3],
  ['lists_empty', 3],
  ['reads_old', 4],
  ['answers_miss', 2],
  ['marketplace_away', 2],
  ['answers_lost', 2],
  ['marketplace_slow', 1],
  ['marketplace_busy', 3],
  ['contracts_missing', 2],
  ['cursors_refused', 2],
  // What the tool does.
  ['tool_down', 3],
  ['tool_loses_answers', 4],
  ['tool_is_late', 4],
  ['tool_lies', 2],
  ['tool_misses', 3],
  ['tool_refuses', 2],
  ['tool_busy', 2],
  ['tool_slow', 1],
  ['tool_restored', 1],
  ['hand_removes', 2],
  ['hide', 2],
  ['hand_adds', 1],
  // What happens to Gangway.
  ['killed', 5],
  ['second_instance', 3],
  ['restored', 1],
  ['database_lost', 1],
  ['disk_full', 2],
  ['clock_jumps', 1],
  // A malicious customer.
  ['forged_end', 3],
  ['forged_hire', 3],
  ['foreign_link', 2],
  ['flood', 1],
  // What operators do.
  ['approve', 6],
  ['reject', 2],
  ['end_by_hand', 2],
  ['look_again', 3],
  ['settle_doubts', 2],
  ['invite_again', 2],
  ['rotate_token', 2],
  ['misconfigured', 2],
  ['tool_renamed', 2],
  ['two_names', 1],
  ['adopt_found', 4],
] as const;

/** Steps that only make sense in weeks, because they concern data that was deleted meanwhile. */
const quietWeights = [
  ['told_again', 30],
  ['forget', 12],
  ['down_for_days', 4],
] as const;

/** Changes what is drawn, for something that few days would show. Such days are always busy. */
export interface Leaning {
  /** Kinds of steps that come more often. */
  often?: readonly StepKind[];
  traits?: Partial<Plan['traits']>;
  hasBrake?: boolean;
}

/** How many times more often they come. */
const oftener = 8;

/** The average gap between two steps, from busy days to days on which hardly anything happens. */
const gapsMin = [4, 14, 45, 150] as const;
const quietGapsMin = [180, 480, 1440] as const;

/** How long faults last. */
const spansMin = [1, 3, 10, 30, 60, 200] as const;
const quietSpansMin = [1, 3, 10, 30, 60, 200, 600, 2000] as const;

/** Settings of a simulation besides its seed. */
export interface Manner {
  isQuiet?: boolean | undefined;
  leaning?: Leaning | undefined;
}

export function drawPlan(seed: number, stormMin: number, { isQuiet = false, leaning }: Manner = {}): Plan {
  const { often = [], traits, hasBrake } = leaning ?? {};
  const random = createRandom(seed);
  const kinds = [...weights, ...(isQuiet ? quietWeights : [])].map(([kind, weight]) => ({
    kind,
    weight: often.includes(kind) ? weight * oftener : weight,
  }));
  const steps: Step[] = [];
  const gaps = isQuiet ? quietGapsMin : gapsMin;
  const drawnGapMin = pickFrom<number>(gaps, random());
  const gapMin = leaning === undefined ? drawnGapMin : gaps[0];
  for (let atMin = 5; ; ) {
    atMin += Math.ceil(-Math.log(1 - random()) * Math.min(gapMin, stormMin / 8));
    if (atMin >= stormMin) break;
    steps.push({
      atMin,
      kind: drawKind(kinds, random()),
      customer: customers[Math.floor(random() * customers.length)] as Customer,
      which: random(),
      other: random(),
      forMin: pickFrom(isQuiet ? quietSpansMin : spansMin, random()),
    });
  }
  const isBraked = random() < 0.3;
  return {
    seed,
    stormMin,
    steps,
    isQuiet,
    hasBrake: hasBrake ?? isBraked,
    isManaged: random() < 0.5,
    traits: {
      lists: random() < 0.8,
      findsById: random() < 0.5,
      endsAccounts: random() < 0.3,
      pageSize: random() < 0.5 ? 3 : 100,
      counts: random() < 0.6,
      invites: random() < 0.3,
      hides: random() < 0.2,
      ...traits,
    },
  };
}

function pickFrom<T>(from: readonly T[], chance: number): T {
  return from[Math.floor(chance * from.length)] as T;
}

function drawKind(kinds: readonly { kind: StepKind; weight: number }[], chance: number): StepKind {
  let left = chance * kinds.reduce((sum, { weight }) => sum + weight, 0);
  for (const { kind, weight } of kinds) {
    left -= weight;
    if (left < 0) return kind;
  }
  return 'hire';
}

function createRandom(seed: number): () => number {
  let state = (seed * 0x9e3779b9) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
