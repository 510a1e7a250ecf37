import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Context } from '../../context.ts';
import { addCounts, type Counts, type Day, isNothing, noCounts, type Observation } from '../../domain/usage.ts';
import { dayIn } from '../../lib/days.ts';
import { chunksOf } from '../../lib/lists.ts';
import type { DueDay } from '../attribute/attribute-work.ts';
import { loadDueOf } from '../due/due-store.ts';
import { describeHeld, differenceOf } from '../due/explain-day.ts';
import { attributeTrainers } from '../due/refresh-due.ts';
import { reportTimeOf } from '../read/look-back.ts';
import type { WorkSpan } from '../read/work-store.ts';
import { dayKey, loadLedger } from '../report/ledger-store.ts';
import { countInstall, decideBrake, reportedOf } from '../report/plan-install.ts';
import { type PlannedDay, type PlannedEntry, planReport } from '../report/plan-report.ts';
import { listLines, listTrainers, sourceOf, toWorkedOn } from './import-store.ts';

/** Lets a long import be watched and stopped. */
export interface Progress {
  signal: AbortSignal;
  onProgress(says: string): void;
}

interface WrittenImport {
  id: number;
  install: string;
}

/** Keeps the thread busy for milliseconds only. */
const trainersAtOnce = 25;

/** Adds to the tally what each line of an import will do once the import counts. */
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
    await nextTurn();
  }
}

async function previewTrainers(
  ctx: Context,
  { id, install }: WrittenImport,
  tally: Tally,
  span: WorkSpan,
): Promise<void> {
  const { held, due } = await attributeImport(ctx, id, span);
  const changes = await findChanges(ctx, [...new Set(due.values())], span);
  for (const { line, trainerId, day, ...work } of await listLines(ctx, id, span)) {
    const key = lineKey({ trainerId, day, workedOn: toWorkedOn({ install, ...work }) });
    const [heldWork, dueDay] = [held.get(key), due.get(key)];
    const change = dueDay && changes.get(dayKey(dueDay));
    const of = { line, trainerId, day };
    if (heldWork !== undefined) {
      const { counts: to } = heldWork.observation;
      const reason = describeHeld[heldWork.reason];
      tallyLine(tally, { ...of, outcome: 'held', contractId: null, from: null, to, reason }, to);
    } else if (change !== undefined) tallyChange(tally, of, change);
  }
}

function tallyChange(tally: Tally, of: Pick<PreviewedLine, 'line' | 'trainerId' | 'day'>, change: DayChange): void {
  const { isTallied, ...shown } = change;
  tallyLine(tally, { ...of, ...shown }, isTallied ? noCounts : differenceOf(shown.to, shown.from));
  if (!isTallied && shown.outcome === 'lowered') tally.loweredDays += 1;
  change.isTallied = true;
}

/** By `lineKey`: what is held and what is due of an import. */
async function attributeImport(ctx: Context, id: number, span: WorkSpan) {
  const source = sourceOf(id);
  const attributed = await attributeTrainers(ctx, ctx.database.kysely, span, id);
  const ours = attributed.held.filter(({ observation }) => observation.source === source);
  const due = new Map<string, DueDay>();
  for (const day of attributed.due) {
    const counted = day.observations.filter((one) => one.source === source && !one.isTakenBack);
    for (const observation of counted) due.set(lineKey(observation), day);
  }
  return { held: new Map(ours.map((one) => [lineKey(one.observation), one])), due };
}

function lineKey({ trainerId, day, workedOn }: Pick<Observation, 'trainerId' | 'day' | 'workedOn'>): string {
  return JSON.stringify([trainerId, day, ...Object.values(workedOn)]);
}

interface Outcome {
  outcome: UnsettledOutcome;
  reason: string | null;
}

/** What an import does to a day of a contract. */
interface DayChange extends Outcome {
  contractId: string;
  from: Counts;
  to: Counts;
  /** Several lines may be of one day, whose change is summed up once. */
  isTallied: boolean;
}

const unchanged: Outcome = { outcome: 'unchanged', reason: null };
const lateChange: Outcome = {
  outcome: 'held',
  reason: 'its day had its last report: send or dismiss it with "gangway usage held"',
};
const refusedBefore: Outcome = {
  outcome: 'held',
  reason: 'the marketplace refused the same counts before, so it is sent again a day later',
};

/** By `dayKey`. */
async function findChanges(ctx: Context, days: readonly DueDay[], span: WorkSpan): Promise<Map<string, DayChange>> {
  const ledger = await loadLedger(ctx.database, ctx.database.kysely, days);
  const stored = await loadDueOf(ctx.database, ctx.database.kysely, span);
  const dismissed = new Map(stored.filter(({ isOpen }) => !isOpen).map((one) => [dayKey(one), one.counts]));
  const time = reportTimeOf(ctx);
  const { entries, late, parked } = planReport(days, (day) => ledger.get(dayKey(day)), time);
  const isDismissed = (day: PlannedDay) => isDeepStrictEqual(dismissed.get(dayKey(day)), day.counts);
  const answeredOf = (day: PlannedDay) => ledger.get(dayKey(day))?.answered ?? noCounts;
  const changes = new Map<string, DayChange>();
  const put = (day: PlannedDay, outcome: Outcome, from = answeredOf(day)) =>
    changes.set(dayKey(day), { ...outcome, contractId: day.contractId, from, to: day.counts, isTallied: false });

  for (const day of days) put(day, outcomeOfUnplanned(day, answeredOf(day), time.now));
  for (const day of parked) put(day, refusedBefore);
  for (const day of late) put(day, isDismissed(day) ? unchanged : lateChange);
  for (const entry of entries) put(entry, outcomeOfEntry(entry), entry.before);
  return changes;
}

function outcomeOfUnplanned({ day, timeZone, counts }: DueDay, answered: Counts, now: Date): Outcome {
  if (day <= dayIn(now, timeZone) || isSame(counts, answered)) return unchanged;
  return { outcome: 'sent', reason: `as soon as its day has started in ${timeZone}` };
}

function outcomeOfEntry({ counts, before, isBraked, heldSince }: PlannedEntry): Outcome {
  if (isSame(counts, before)) return unchanged;
  if (isBraked && heldSince !== null) return { outcome: 'held', reason: loweredTooMuch };
  return { outcome: isBraked ? 'lowered' : 'sent', reason: null };
}

function isSame(to: Counts, from: Counts): boolean {
  return isNothing(differenceOf(to, from));
}

export const lineOutcomes = ['sent', 'held', 'unchanged', 'refused'] as const;

/** What becomes of a line. If one is refused, nothing of the file is imported. */
type LineOutcome = (typeof lineOutcomes)[number];

export interface PreviewedLine<Outcome = LineOutcome> {
  line: number;
  outcome: Outcome;
  /** Null if the line is refused. */
  trainerId: string | null;
  day: Day | null;
  /** Null if no contract gets the work. */
  contractId: string | null;
  /** What the marketplace has of the day, and what it will have. Of held work, `to` has its counts. */
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

export interface LinesPreview {
  outcomes: Record<LineOutcome, OutcomeSum>;
  /** The first lines, in order. */
  listed: PreviewedLine[];
}

/** `lowered`: sent, unless the next run would lower too much. */
type UnsettledOutcome = LineOutcome | 'lowered';

/** Keeps only the listed lines in memory, because a file may have a million. */
export interface Tally {
  sums: Map<UnsettledOutcome, OutcomeSum>;
  listed: PreviewedLine<UnsettledOutcome>[];
  listAtMost: number;
  loweredDays: number;
}

export function openTally(listAtMost: number): Tally {
  return { sums: new Map(), listed: [], listAtMost, loweredDays: 0 };
}

/** @param counts what the line adds to the sum of its outcome */
export function tallyLine(
  { sums, listed, listAtMost }: Tally,
  line: PreviewedLine<UnsettledOutcome>,
  counts = noCounts,
) {
  sums.set(line.outcome, addSums(sums.get(line.outcome) ?? noLines, { lines: 1, counts }));
  listed.push(line);
  // Lines come by trainer, so the first line of the file may come last.
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

/** Decides for the whole install whether lowered days are held. */
export async function closeTally(ctx: Context, install: string, tally: Tally): Promise<LinesPreview> {
  const isHeld = tally.loweredDays > 0 && (await isBrakeOn(ctx, install, tally.loweredDays));
  const isReported = reportedOf(ctx, [install]).length > 0;
  const settle = (outcome: UnsettledOutcome, reason: string | null): Pick<PreviewedLine, 'outcome' | 'reason'> => {
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

/** Whether the next run would hold what it lowers, with this import. */
async function isBrakeOn(ctx: Context, install: string, loweredDays: number): Promise<boolean> {
  const wanted = { installs: [install] };
  const count = await countInstall(ctx, install, wanted);
  const brake = await decideBrake(ctx, install, { ...count, lowered: count.lowered + loweredDays }, wanted);
  return brake.isOn;
}
