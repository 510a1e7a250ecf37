import type { Context } from '../../context.ts';
import { addCounts, type Counts, type Day, noCounts } from '../../domain/usage.ts';
import { countInstall, decideBrake, reportedOf } from '../report/plan-install.ts';

export const lineOutcomes = ['sent', 'held', 'unchanged', 'refused'] as const;

/** What an import does with a line. If one is refused, nothing of the file is imported. */
export type LineOutcome = (typeof lineOutcomes)[number];

export interface PreviewedLine<Outcome = LineOutcome> {
  line: number;
  outcome: Outcome;
  /** Null where the line is refused. */
  trainerId: string | null;
  day: Day | null;
  /** Null where no contract gets the work. */
  contractId: string | null;
  /** What the marketplace has of the day on the contract, and what it is to have. Of held work, its counts. */
  from: Counts | null;
  to: Counts | null;
  /** Why it is held or refused, or when it is sent. */
  reason: string | null;
}

export interface OutcomeSum {
  lines: number;
  /** By how much the counts of the marketplace change; of held work, its counts. */
  counts: Counts;
}

/** What will happen with each line of a file. */
export interface LinesPreview {
  outcomes: Record<LineOutcome, OutcomeSum>;
  /** The first lines, in their order. */
  listed: PreviewedLine[];
}

/** `lowered`: sent, unless the run would lower too much. */
export type FoundOutcome = LineOutcome | 'lowered';

/** What was found of the lines until now. A million lines need no more memory than the listed ones. */
export interface Tally {
  sums: Map<FoundOutcome, OutcomeSum>;
  listed: PreviewedLine<FoundOutcome>[];
  listAtMost: number;
  loweredDays: number;
}

export function openTally(listAtMost: number): Tally {
  return { sums: new Map(), listed: [], listAtMost, loweredDays: 0 };
}

/** @param counts what the line adds to the sum of its outcome */
export function tallyLine({ sums, listed, listAtMost }: Tally, line: PreviewedLine<FoundOutcome>, counts = noCounts) {
  sums.set(line.outcome, addSums(sums.get(line.outcome) ?? noLines, { lines: 1, counts }));
  listed.push(line);
  // The lines come by trainer, so the first lines of the file may be the last ones here.
  if (listed.length > 2 * listAtMost + 1000) listed.splice(0, listed.length, ...firstLines(listed, listAtMost));
}

function firstLines<Line extends { line: number }>(lines: readonly Line[], limit: number): Line[] {
  return lines.toSorted((a, b) => a.line - b.line).slice(0, limit);
}

const noLines: OutcomeSum = { lines: 0, counts: noCounts };

function addSums(a: OutcomeSum, b: OutcomeSum): OutcomeSum {
  return { lines: a.lines + b.lines, counts: addCounts(a.counts, b.counts) };
}

export const loweredTooMuch = 'it lowers too much: "gangway usage report --accept-lowered" sends it';

/** Ends the tally. Whether lowered days are held is decided for a whole install. */
export async function closeTally(ctx: Context, install: string, tally: Tally): Promise<LinesPreview> {
  const isHeld = tally.loweredDays > 0 && (await isBrakeOn(ctx, install, tally.loweredDays));
  const isReported = reportedOf(ctx, [install]).length > 0;
  const settle = (outcome: FoundOutcome, reason: string | null): Pick<PreviewedLine, 'outcome' | 'reason'> => {
    if (outcome !== 'lowered' && outcome !== 'sent') return { outcome, reason };
    if (!isReported) return { outcome: 'held', reason: `the marketplace of ${install} accepts no reports` };
    return outcome === 'lowered' && isHeld ? { outcome: 'held', reason: loweredTooMuch } : { outcome: 'sent', reason };
  };
  const outcomes = { sent: noLines, held: noLines, unchanged: noLines, refused: noLines };
  for (const [found, sum] of tally.sums) {
    const { outcome } = settle(found, null);
    outcomes[outcome] = addSums(outcomes[outcome], sum);
  }
  const listed = firstLines(tally.listed, tally.listAtMost);
  return { outcomes, listed: listed.map((one) => ({ ...one, ...settle(one.outcome, one.reason) })) };
}

/** Whether the next run holds what it would lower, this import included. */
async function isBrakeOn(ctx: Context, install: string, loweredDays: number): Promise<boolean> {
  const wanted = { installs: [install] };
  const count = await countInstall(ctx, install, wanted);
  const brake = await decideBrake(ctx, install, { ...count, lowered: count.lowered + loweredDays }, wanted);
  return brake.isOn;
}
