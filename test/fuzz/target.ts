import { createMutator, type Mutator } from './mutator.ts';

/** A border where bytes from strangers come in, with the real code behind it. */
export interface Target {
  name: string;
  /** The numbers of inputs in the long run and in `npm test`. */
  inputs: { long: number; short: number };
  /** Outcomes that must occur in `npm test`: a border that refuses everything proves nothing. */
  reaches: readonly string[];
  /** How many inputs run at the same time, if the code waits. */
  atOnce?: number;
  open(): Opened | Promise<Opened>;
}

export interface Opened {
  /**
   * Makes one input and gives it to the code.
   *
   * @returns a word for the outcome
   * @throws if the code does something that it must not do
   */
  judge(chance: Mutator): string | Promise<string>;
  close?(): void | Promise<void>;
}

export interface Fuzzed {
  inputs: number;
  /** How often each outcome occurred. */
  outcomes: Map<string, number>;
  /** What went wrong, with the seed that repeats it. At most ten. */
  findings: string[];
  seconds: number;
  /** The slowest input, and how long it took. */
  slowest: { seed: string; ms: number };
}

const mostFindings = 10;

/** @param seed `7` for the inputs of seed 7, `7.12` for number 12 of them alone */
export async function runTarget(target: Target, inputs: number, seed: string): Promise<Fuzzed> {
  const [first = 1, only] = seed.split('.').map(Number);
  const fuzzed: Fuzzed = { inputs: 0, outcomes: new Map(), findings: [], seconds: 0, slowest: { seed: '', ms: 0 } };
  const beganAt = performance.now();
  const { judge, close } = await target.open();
  let next = only ?? 0;
  const end = only === undefined ? inputs : only + 1;

  async function work(): Promise<void> {
    while (next < end && fuzzed.findings.length < mostFindings) {
      const index = next;
      next += 1;
      await judgeOne(`${first}.${index}`, createMutator(toState(first, index)));
    }
  }

  async function judgeOne(told: string, chance: Mutator): Promise<void> {
    const startedAt = performance.now();
    try {
      const judged = judge(chance);
      const outcome = typeof judged === 'string' ? judged : await judged;
      fuzzed.outcomes.set(outcome, (fuzzed.outcomes.get(outcome) ?? 0) + 1);
    } catch (error) {
      const says = error instanceof Error ? (error.stack ?? error.message) : String(error);
      fuzzed.findings.push(`FUZZ_SEED=${told} npm run test:fuzz -- -t "${target.name}": ${says.slice(0, 3000)}`);
    }
    fuzzed.inputs += 1;
    const ms = performance.now() - startedAt;
    if (ms > fuzzed.slowest.ms) fuzzed.slowest = { seed: told, ms };
  }

  try {
    await Promise.all(Array.from({ length: target.atOnce ?? 1 }, work));
  } finally {
    await close?.();
  }
  fuzzed.seconds = (performance.now() - beganAt) / 1000;
  return fuzzed;
}

/** Neighbouring seeds must not make the same choices one step later. */
function toState(seed: number, index: number): number {
  return Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b);
}
