import fc from 'fast-check';
import { type CustomerName, customerNames, type Happening, type Job, type Slot } from './market.ts';

/**
 * What stories are made of: every kind of step by its name, how often it comes, and whether it does.
 * A step that is off is never drawn.
 */

/** What goes wrong between the marketplace and the bridge, or in the tool, and what operators do. */
type Trouble =
  | 'read'
  | 'list_cut'
  | 'reads_old'
  | 'list_seconds_old'
  | 'unreadable'
  | 'tokens_swapped'
  | 'rename'
  | 'approve'
  | 'tool_loses_answer'
  | 'tool_is_late'
  | 'tool_down'
  | 'tool_misses_once'
  | 'tool_lags'
  | 'hand_removes';

export type StepKind = Happening | Trouble;

/** Out of a hundred or so. */
const alphabet: Record<StepKind, number> = {
  // What customers do.
  hire: 16,
  end: 8,
  renew: 8,
  // Of two people on the next contract the start of one arrives, and that of the other is lost.
  renew_partly_lost: 4,
  mistaken_end: 2,
  staff: 5,
  move: 2,
  unlink: 5,
  // With another link soon after, of which the bridge may not hear.
  unlink_for_a_while: 6,
  link: 8,
  repoint: 4,
  link_in_strange_mode: 1,
  manage: 1,
  disconnect: 2,
  reconnect: 4,
  change_address: 2,
  // What the marketplace answers.
  list_cut: 3,
  reads_old: 3,
  list_seconds_old: 2,
  unreadable: 3,
  tokens_swapped: 2,
  // What an operator does.
  read: 10,
  rename: 1,
  approve: 4,
  // What the tool does.
  tool_loses_answer: 3,
  tool_is_late: 3,
  tool_down: 2,
  tool_misses_once: 3,
  tool_lags: 1,
  hand_removes: 2,
};

/** Minutes since the step before, or to when the bridge goes down or comes back next. */
export type After = number | { to: 'down' | 'up'; byMin: number };

export interface Step {
  kind: StepKind;
  after: After;
  customer: CustomerName;
  /** Which contract it is about, or by which link. */
  slot: Slot;
  job: Job;
  people: readonly string[];
  /** By event raised: after how many minutes each of its deliveries comes in; none is lost. */
  delaysMin: number[][];
  /** For how long it is so, or after how long it is made good again; null is never. */
  forMin: number | null;
}

export interface StoryPlan {
  steps: Step[];
  /** Whether lists of ended contracts are longer than what can be read of them. */
  isEndedCutOff: boolean;
}

const delays = fc.array(fc.constantFrom(0, 0, 1, 10, 30, 90), { maxLength: 2 });
const after: fc.Arbitrary<After> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0, 0, 1, 5, 10, 14, 20, 45, 90) },
  {
    weight: 2,
    arbitrary: fc.record({
      to: fc.constantFrom('down', 'down', 'up'),
      byMin: fc.constantFrom(-12, -5, -2, -1, 1, 5, 12),
    }),
  },
);

export const storyPlan: fc.Arbitrary<StoryPlan> = fc.record({
  steps: fc.array(
    fc.record({
      kind: fc.oneof(
        ...Object.entries(alphabet).map(([kind, weight]) => ({
          weight,
          arbitrary: fc.constant(kind as StepKind),
        })),
      ),
      after,
      customer: fc.constantFrom(...customerNames),
      slot: fc.constantFrom('a', 'b'),
      job: fc.constantFrom('j1', 'j2'),
      people: fc.constantFrom(['t1'], ['t2'], ['t1', 't2']),
      delaysMin: fc.array(delays, { minLength: 1, maxLength: 3 }),
      forMin: fc.constantFrom(0, 1, 2, 5, 30, 60, 90, 300, null),
    }),
    { minLength: 2, maxLength: 10, size: 'max' },
  ),
  isEndedCutOff: fc.boolean(),
});

/** What happens to the bridge, on which many stories hang together. */
export interface BridgeLife {
  /** When it goes down, after so many minutes, and for how long. */
  outages: { afterMin: number; forMin: number }[];
  /** At the end of which outage it comes back with a database of so many minutes before. */
  restore: { outage: number; backMin: number; isSaid: boolean } | null;
  /** Whether the brake lets next to nothing pass, so that plans are held and approved. */
  isBraked: boolean;
  tool: ToolKind;
  /** After which outage, and for how long, the tool's address in the configuration is another's. */
  strangeTool: StrangeTool | null;
}

export interface StrangeTool {
  outage: number;
  forMin: number;
  /** Whether a server tells which one it is; else its address tells. */
  identifies: boolean;
}

export interface ToolKind {
  /** What identifies a person in it. */
  keyedBy: 'trainer' | 'address';
  lists: boolean;
  updates: boolean;
  findsById: boolean;
}

const outage = fc.record({
  afterMin: fc.constantFrom(15, 40, 80, 150),
  forMin: fc.constantFrom(1, 20, 20, 59, 200),
});

export const bridgeLife: fc.Arbitrary<BridgeLife> = fc.record({
  outages: fc.array(outage, { minLength: 1, maxLength: 4, size: 'max' }),
  restore: fc.option(
    fc.record({
      outage: fc.nat(3),
      backMin: fc.constantFrom(20, 45, 90, 240),
      isSaid: fc.boolean(),
    }),
  ),
  isBraked: fc.constantFrom(false, false, true),
  tool: fc.record({
    keyedBy: fc.constantFrom('trainer', 'address'),
    lists: fc.boolean(),
    updates: fc.boolean(),
    findsById: fc.boolean(),
  }),
  strangeTool: fc.option(
    fc.record({ outage: fc.nat(3), forMin: fc.constantFrom(5, 40, 200), identifies: fc.boolean() }),
  ),
});
