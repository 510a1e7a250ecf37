import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Context } from '../../context.ts';
import { addCounts, type Counts, type Day, isNothing, noCounts, type WorkedOn } from '../../domain/usage.ts';
import { dayIn } from '../../lib/days.ts';
import { chunksOf } from '../../lib/lists.ts';
import type { DueDay, HeldWork } from '../attribute/attribute-work.ts';
import { loadDueOf } from '../due/due-store.ts';
import { describeHeld, differenceOf } from '../due/explain-day.ts';
import { attributeTrainers } from '../due/refresh-due.ts';
import { reportTimeOf } from '../read/look-back.ts';
import { dayKey, loadLedger } from '../report/ledger-store.ts';
import { countInstall, decideBrake, reportedOf } from '../report/plan-install.ts';
import { type PlannedDay, type PlannedEntry, planReport } from '../report/plan-report.ts';
import { listLines, listTrainers, sourceOf, toWorkedOn } from './import-store.ts';

/** How a long import is followed, and stopped. */
export interface Progress {
  signal: AbortSignal;
  onProgress(says: string): void;
}

interface WrittenImport {
  id: number;
  install: string;
}

/** So few trainers that their work is read and judged within milliseconds. */
const trainersAtOnce = 25;

/** Adds to the tally what every line of an import will do as soon as the import counts. */
export async function previewLines(
  ctx: Context,
  of: WrittenImport,
  tally: Tally,
  { signal, onProgress }: Progress,
): Promise<void> {
  const all = await listTrainers(ctx.database.kysely, of.id);
  for (const [index, trainers] of chunksOf(all, trainersAtOnce).entries()) {
    signal.throwIfAborted();
    onProgress(`the work of ${index * trainersAtOnce} of ${all.length} people compared with what was reported`);
    const [fromDay = ''] = trainers.map((one) => one.fromDay).sort();
    await previewTrainers(ctx, of, tally, { trainerIds: trainers.map(({ trainerId }) => trainerId), fromDay });
    // Other work gets its turn on the thread.
    await nextTurn();
  }
}

interface Span {
  trainerIds: readonly string[];
  fromDay: Day;
}

async function previewTrainers(ctx: Context, { id, install }: WrittenImport, tally: Tally, span: Span): Promise<void> {
  const { held, due } = await attribute(ctx, id, span);
  const changes = await findChanges(ctx, [...new Set(due.values())], span);
  for (const { line, trainerId, day, ...work } of await listLines(ctx, id, span)) {
    const key = lineKey({ trainerId, day, workedOn: toWorkedOn({ install, ...work }) });
    const found = { line, trainerId, day };
    const [heldWork, dueDay] = [held.get(key), due.get(key)];
    const change = dueDay && changes.get(dayKey(dueDay));
    if (heldWork !== undefined) tallyHeld(tally, found, heldWork);
    else if (change !== undefined) tallyChange(tally, found, change);
  }
}

/** What becomes of the lines of an import, by `lineKey`. */
async function attribute(ctx: Context, id: number, { trainerIds, fromDay }: Span) {
  const as = { fromDay, includesImport: id };
  const { held, due } = await attributeTrainers(ctx, ctx.database.kysely, trainerIds, as);
  const source = sourceOf(id);
  return {
    held: new Map(
      held.filter(({ observation }) => observation.source === source).map((one) => [lineKey(one.observation), one]),
    ),
    due: new Map(
      due.flatMap((day) =>
        day.observations
          .filter((one) => one.source === source && !one.isTakenBack)
          .map((one): [string, DueDay] => [lineKey(one), day]),
      ),
    ),
  };
}

function lineKey({ trainerId, day, workedOn }: { trainerId: string; day: Day; workedOn: WorkedOn }): string {
  return JSON.stringify([trainerId, day, ...Object.values(workedOn)]);
}

type FoundLine = Pick<PreviewedLine, 'line' | 'trainerId' | 'day'>;

function tallyHeld(tally: Tally, found: FoundLine, { observation: { counts }, reason }: HeldWork): void {
  const held = { outcome: 'held', contractId: null, from: null, to: counts, reason: describeHeld[reason] } as const;
  tallyLine(tally, { ...found, ...held }, counts);
}

function tallyChange(tally: Tally, found: FoundLine, change: DayChange): void {
  const { isTallied, ...day } = change;
  tallyLine(tally, { ...found, ...day }, isTallied ? noCounts : differenceOf(day.to, day.from));
  if (!isTallied && day.outcome === 'lowered') tally.loweredDays += 1;
  change.isTallied = true;
}

interface FoundChange {
  outcome: FoundOutcome;
  reason: string | null;
}

/** What an import does to a day of a contract. */
interface DayChange extends FoundChange {
  contractId: string;
  from: Counts;
  to: Counts;
  /** Several lines may be of one day. Its change is summed up once. */
  isTallied: boolean;
}

const unchanged: FoundChange = { outcome: 'unchanged', reason: null };
const sentForTheLastTime: FoundChange = {
  outcome: 'held',
  reason: 'its day had its last report: send or dismiss it with "gangway usage held"',
};
const refusedBefore: FoundChange = {
  outcome: 'held',
  reason: 'the marketplace refused the same counts before, so it is sent again a day later',
};

/** By the keys of the days. */
async function findChanges(ctx: Context, days: readonly DueDay[], span: Span): Promise<Map<string, DayChange>> {
  const ledger = await loadLedger(ctx.database, ctx.database.kysely, days);
  const stored = await loadDueOf(ctx.database, ctx.database.kysely, span);
  const dismissed = new Map(stored.filter(({ isOpen }) => !isOpen).map((one) => [dayKey(one), one.counts]));
  const time = reportTimeOf(ctx);
  const { entries, late, parked } = planReport(days, (day) => ledger.get(dayKey(day)), time);
  const isDismissed = (day: PlannedDay) => isDeepStrictEqual(dismissed.get(dayKey(day)), day.counts);
  const answeredOf = (day: PlannedDay) => ledger.get(dayKey(day))?.answered ?? noCounts;
  const changes = new Map<string, DayChange>();
  const put = (day: PlannedDay, change: FoundChange, from = answeredOf(day)) =>
    changes.set(dayKey(day), { ...change, contractId: day.contractId, from, to: day.counts, isTallied: false });

  for (const day of days) put(day, changeWithoutPlan(day, answeredOf(day), time.now));
  for (const day of parked) put(day, refusedBefore);
  for (const day of late) put(day, isDismissed(day) ? unchanged : sentForTheLastTime);
  for (const entry of entries) put(entry, changeOfEntry(entry), entry.before);
  return changes;
}

function changeWithoutPlan({ day, timeZone, counts }: DueDay, answered: Counts, now: Date): FoundChange {
  if (day <= dayIn(now, timeZone) || isSame(counts, answered)) return unchanged;
  return { outcome: 'sent', reason: `as soon as its day has started in ${timeZone}` };
}

function changeOfEntry({ counts, before, isBraked, heldSince }: PlannedEntry): FoundChange {
  if (isSame(counts, before)) return unchanged;
  if (isBraked && heldSince !== null) return { outcome: 'held', reason: loweredTooMuch };
  return { outcome: isBraked ? 'lowered' : 'sent', reason: null };
}

function isSame(to: Counts, from: Counts): boolean {
  return isNothing(differenceOf(to, from));
}

export const lineOutcomes = ['sent', 'held', 'unchanged', 'refused'] as const;

/** What an import does with a line. If one is refused, nothing of the file is imported. */
type LineOutcome = (typeof lineOutcomes)[number];

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

interface OutcomeSum {
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
type FoundOutcome = LineOutcome | 'lowered';

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

const loweredTooMuch = 'it lowers too much: "gangway usage report --accept-lowered" sends it';

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
