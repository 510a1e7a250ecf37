import fc from 'fast-check';
import { expect } from 'vitest';
import type { Evidence } from '../../src/domain/evidence.ts';
import { evidenceOfInstall } from '../../src/reconcile/read/evidence-of-install.ts';
import { type KnownInstall, readInstall } from '../../src/reconcile/read/read-install.ts';
import type { SourceReader } from '../../src/sources/source.ts';
import {
  createSmallMarket,
  type Happening,
  type InstallName,
  installNames,
  type Raised,
  type SmallMarket,
} from './small-market.ts';

/**
 * Stories of the little marketplace as a bridge lives through them: what happened, and what of it
 * comes in, late, in another order, repeatedly or never.
 */

interface Step extends Happening {
  /** Minutes since the step before. */
  afterMin: number;
  /** By event raised: after how many minutes each of its deliveries comes in; none is lost. */
  delaysMin: number[][];
}

export interface Story {
  steps: Step[];
  isBusy: boolean;
  isEndedCutOff: boolean;
}

/** One thing that the bridge sees, in the order of time. */
export interface Arrival {
  atMs: number;
  install: InstallName;
  seen:
    | { by: 'event'; body: string }
    /** A read begins; what it says comes in later. */
    | { by: 'read_began'; read: ReadUnderway }
    | { by: 'read_ended'; read: ReadUnderway };
}

/** What was known when it began decides what it asks for. */
export interface ReadUnderway {
  api: SourceReader;
  beganAtMs: number;
  evidence: Evidence[];
}

const minute = 60_000;
const kinds: Happening['kind'][] = [
  ...(['start', 'start', 'start', 'end', 'mistaken_end', 'staff', 'staff'] as const),
  ...(['unlink', 'link', 'repoint', 'revoke', 'reconnect', 'reconnect'] as const),
  ...(['read', 'read', 'read'] as const),
];

interface StoryWish {
  maxSteps: number;
  /** Minutes between steps, and until what they raise comes in. */
  afterMin: number[];
  delaysMin: number[];
}

export function storyOf({ maxSteps, afterMin, delaysMin }: StoryWish): fc.Arbitrary<Story> {
  const delays = fc.array(fc.constantFrom(...delaysMin), { maxLength: 2 });
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom(...kinds),
    install: fc.constantFrom(...installNames),
    slot: fc.constantFrom('a', 'b'),
    job: fc.constantFrom('j1', 'j2'),
    people: fc.constantFrom(['t1'], ['t2'], ['t1', 't2']),
    afterMin: fc.constantFrom(...afterMin),
    delaysMin: fc.array(delays, { minLength: 1, maxLength: 3 }),
  });
  return fc.record({
    steps: fc.array(step, { minLength: 2, maxLength: maxSteps }),
    isBusy: fc.boolean(),
    isEndedCutOff: fc.boolean(),
  });
}

export interface Outcome {
  arrivals: Arrival[];
  /** Long after everything, when the last full reads have come in. */
  endMs: number;
  /** Which trainer belongs in which group in the end. */
  roster: string[];
}

/**
 * There is enough time between the last full readings that each asks again who is on each contract. Two readings are
 * enough to see that a trainer is absent. A third is needed where the first only finds out that a contract goes on.
 */
const lastReadsMin = [420, 840, 1260];
/** The longest that anything waits, and more. */
const restMin = 1500;

/** @param run tells the ids of one story from those of another */
export function tell(story: Story, beginMs: number, run = ''): Outcome {
  const market = createSmallMarket({ ...story, run });
  const arrivals: Arrival[] = [];
  let nowMs = beginMs;
  for (const step of story.steps) {
    // No two things happen at the same instant.
    nowMs += step.afterMin * minute + 7;
    const raised = market.happen(step, toInstant(nowMs));
    arrivals.push(...deliveriesOf(step, raised, nowMs));
    // An operator who stores a new token has the install read with it.
    const isRead = step.kind === 'read' || step.kind === 'reconnect';
    if (isRead) arrivals.push(...readOf(market, step.install, nowMs + 1, step.delaysMin[0]?.[0]));
  }
  const lastMs = Math.max(nowMs, ...arrivals.map(({ atMs }) => atMs));
  for (const min of lastReadsMin) {
    arrivals.push(...installNames.flatMap((name) => readOf(market, name, lastMs + min * minute)));
  }
  const endMs = lastMs + (Math.max(...lastReadsMin) + restMin) * minute;
  arrivals.sort((a, b) => a.atMs - b.atMs);
  return { arrivals, endMs, roster: market.roster() };
}

function deliveriesOf({ install, delaysMin }: Step, raised: Raised[], nowMs: number): Arrival[] {
  return raised.flatMap(({ body, isVital }, index) => {
    const delays = delaysMin[index % delaysMin.length] ?? [];
    return (delays.length === 0 && isVital ? [0] : delays).map((delay) => ({
      atMs: nowMs + delay * minute,
      install,
      seen: { by: 'event' as const, body },
    }));
  });
}

function readOf(market: SmallMarket, install: InstallName, atMs: number, tookMin = 1): Arrival[] {
  const read: ReadUnderway = { api: market.api(install), beganAtMs: atMs, evidence: [] };
  return [
    { atMs, install, seen: { by: 'read_began', read } },
    { atMs: atMs + tookMin * minute, install, seen: { by: 'read_ended', read } },
  ];
}

/** Reads as the bridge does; a read that fails says nothing. */
export async function readAsOf(
  { api, beganAtMs, evidence }: ReadUnderway,
  install: string,
  known: KnownInstall,
): Promise<void> {
  const { signal } = new AbortController();
  try {
    const read = await readInstall(api, install, known, toInstant(beganAtMs), signal);
    evidence.push(...evidenceOfInstall(read, known));
  } catch {
    // The grant is revoked: the token is refused.
  }
}

export function toInstant(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * The trainers in the tool are those who belong there. Two cases are weaker: where an install has nothing active left,
 * its lists say nothing (a failed reading also gives an empty list), and where an ended contract is in no list, its end
 * is unknown. In these cases no trainer is missing, and some may be left.
 */
export function expectTruth(found: string[], { roster }: Outcome, { isBusy, isEndedCutOff }: Story): void {
  const isAllKnown = isBusy && !isEndedCutOff;
  expect(isAllKnown ? found : found.filter((one) => roster.includes(one))).toEqual(roster);
}
