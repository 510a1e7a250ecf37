import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { addCounts, type Counts, countNames, type Day, noCounts } from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';
import { toInstant } from '../../lib/clock.ts';
import { type DueDay, type HeldWork, workKey } from '../attribute/attribute-work.ts';
import { heldIdOf } from '../attribute/decision-store.ts';
import { type DueLoader, openDue } from '../attribute/load-due.ts';
import { listParticipants } from '../read/contract-source-store.ts';
import { reportedOf } from '../report/count-run.ts';
import { type LedgerRow, listLedger } from '../report/ledger-store.ts';
import { loadPart, loadParts, type Part } from '../report/load-parts.ts';
import type { ReportWanted } from '../report/report-wanted.ts';
import { type DaySum, replaceDifferences, replaceDifferencesOf, sentOnDay } from './comparison-store.ts';
import type { Difference } from './difference.ts';
import { explainDay } from './explain-day.ts';

/** Where there are more, something is wrong with all of them, and the count says so. */
const mostKept = 5000;

/** Compares all work that was read with what was reported. Changes nothing but what is shown of it. */
export async function compareWork(
  ctx: Context,
  signal: AbortSignal,
  onProgress: () => void = () => undefined,
): Promise<void> {
  const installs = reportedOf(ctx, [...ctx.installs.keys()]);
  const at = toInstant(ctx.clock.now());
  const due = await openDue(ctx);
  const { firstDay } = due;
  const found = openFound();
  for await (const part of loadParts(ctx, due, { installs })) {
    if (signal.aborted) return;
    await comparePart(ctx, due, part, found);
    onProgress();
  }
  const sums = await addSent(ctx, found, installs, firstDay);
  const differences = mergeHeld(found.differences).toSorted((a, b) => (a.day < b.day ? -1 : 1));
  await replaceDifferences(ctx, { at, firstDay, differences, left: found.left(), sums });
}

/** The same for one contract, after an operator has decided about its work. */
export async function compareContract(ctx: Context, of: ContractKey): Promise<void> {
  const due = await openDue(ctx);
  const people = await listParticipants(ctx, of.install, [of.contractId]);
  const wanted: ReportWanted = { installs: [of.install], contractId: of.contractId };
  const part = await loadPart(ctx, due, wanted, [...new Set(people.map(({ trainerId }) => trainerId))]);
  const found = openFound();
  const rows = await listLedger(ctx, { install: of.install, contractIds: [of.contractId], firstDay: due.firstDay });
  compareDays(part.due, rows, due, ctx.clock.now(), found);
  await replaceDifferencesOf(ctx, of, due.firstDay, found.differences);
}

interface Found {
  differences: Difference[];
  /** What was seen, by install and day. */
  seen: Map<string, SeenDay>;
  left(): number;
  add(difference: Difference | null): void;
  addSeen(of: Pick<SeenDay, 'install' | 'day'>, counts: Counts): void;
}

type SeenDay = Pick<DaySum, 'install' | 'day' | 'seen'>;

function openFound(): Found {
  const differences: Difference[] = [];
  const known = new Set<string>();
  const seen: Found['seen'] = new Map();
  let left = 0;
  return {
    differences,
    seen,
    left: () => left,
    add(difference) {
      if (difference === null) return;
      const { install, contractId, trainerId, day, heldId } = difference;
      const key = JSON.stringify([install, contractId, trainerId, day, heldId]);
      if (known.has(key)) return;
      if (differences.length === mostKept) left += 1;
      else {
        known.add(key);
        differences.push(difference);
      }
    },
    addSeen({ install, day }, counts) {
      const key = sumKeyOf({ install, day });
      const sum = seen.get(key)?.seen ?? noCounts;
      seen.set(key, { install, day, seen: addCounts(sum, counts) });
    },
  };
}

async function comparePart(ctx: Context, due: DueLoader, part: Part, found: Found): Promise<void> {
  for (const [install, days] of Map.groupBy(part.due, (day) => day.install)) {
    const contractIds = [...new Set(days.map(({ contractId }) => contractId))];
    const rows = await listLedger(ctx, { install, contractIds, firstDay: due.firstDay });
    compareDays(days, rows, due, ctx.clock.now(), found);
  }
  for (const held of part.held) {
    const difference = toHeld(held);
    found.add(difference);
    found.addSeen(difference, held.observation.counts);
  }
  await compareHeld(ctx, due, part.held, found);
}

/** What was reported of a day before its work was held. */
async function compareHeld(ctx: Context, due: DueLoader, held: readonly HeldWork[], found: Found): Promise<void> {
  const claims = held.flatMap(({ contracts, observation: { trainerId, day } }) =>
    contracts.map((of) => ({ ...of, trainerId, day })),
  );
  const known = new Set(claims.map(fullKeyOf));
  for (const [install, some] of Map.groupBy(claims, (one) => one.install)) {
    const contractIds = [...new Set(some.map(({ contractId }) => contractId))];
    const rows = await listLedger(ctx, { install, contractIds, firstDay: due.firstDay });
    compareDays(
      [],
      rows.filter((row) => known.has(fullKeyOf(row))),
      due,
      ctx.clock.now(),
      found,
    );
  }
}

function compareDays(
  days: readonly DueDay[],
  rows: readonly LedgerRow[],
  { firstDay }: DueLoader,
  now: Date,
  found: Found,
): void {
  const seen = new Map(days.map((day) => [keyOf(day), day]));
  const sent = new Map(rows.map((row) => [keyOf(row), row]));
  for (const key of new Set([...seen.keys(), ...sent.keys()])) {
    const [day, row] = [seen.get(key), sent.get(key)];
    found.add(toDifference(day, row, now, firstDay));
    if (day !== undefined) found.addSeen(day, day.counts);
  }
}

/** Pure: what was reported of a day is not gone where the work is held: it says what the marketplace has of it. */
function mergeHeld(differences: readonly Difference[]): Difference[] {
  const unseen = new Map(differences.flatMap((one) => (one.why === 'unseen' ? [[fullKeyOf(one), one] as const] : [])));
  const merged = new Set<Difference>();
  const all = differences.map((one) => {
    const parts = (one.held?.contracts ?? []).flatMap((of) => unseen.get(fullKeyOf({ ...one, ...of })) ?? []);
    for (const part of parts) merged.add(part);
    return parts.length === 0 ? one : { ...one, sent: parts.map((part) => part.sent ?? noCounts).reduce(addCounts) };
  });
  return all.filter((one) => !merged.has(one));
}

/** Adds what the marketplace has of each day, whatever is seen of it, and days of contracts of which nothing is seen. */
async function addSent(ctx: Context, found: Found, installs: readonly string[], firstDay: Day): Promise<DaySum[]> {
  const sums = new Map([...found.seen].map(([key, one]) => [key, { ...one, sent: noCounts }]));
  const now = ctx.clock.now();
  // Somewhere it is tomorrow already.
  const lastDay = addDays(now.toISOString().slice(0, 10), 1);
  // What did not fit is counted once.
  const limit = found.left() > 0 ? 0 : mostKept;
  for (const install of installs) {
    for (let day = firstDay; day <= lastDay; day = addDays(day, 1)) {
      const { sent, troubled } = await sentOnDay(ctx, install, day, limit);
      for (const row of troubled) found.add(toDifference(undefined, row, now, firstDay));
      const key = sumKeyOf({ install, day });
      const seen = sums.get(key)?.seen ?? noCounts;
      if (sums.has(key) || countNames.some((name) => sent[name] !== null)) sums.set(key, { install, day, seen, sent });
      // Other work gets its turn on the thread.
      await nextTurn();
    }
  }
  return [...sums.values()];
}

function sumKeyOf({ install, day }: Pick<DaySum, 'install' | 'day'>): string {
  return JSON.stringify([install, day]);
}

function fullKeyOf({ install, contractId, trainerId, day }: Pick<Difference, keyof ContractKey | 'trainerId' | 'day'>) {
  return JSON.stringify([install, contractId, trainerId, day]);
}

function toDifference(
  day: DueDay | undefined,
  row: LedgerRow | undefined,
  now: Date,
  firstDay: Day,
): Difference | null {
  const of = day ?? row;
  // Days before the look-back are not read again.
  if (of === undefined || (day === undefined && of.day < firstDay)) return null;
  const why = explainDay(day, row, now);
  if (why === null || why === 'not_begun') return null;
  const { install, contractId, trainerId } = of;
  const sent = row === undefined || row.answeredAt === null ? null : row.answered;
  return {
    install,
    contractId,
    trainerId,
    day: of.day,
    why,
    seen: day?.counts ?? null,
    sent,
    held: null,
    heldId: null,
  };
}

function toHeld({ observation, reason, contracts }: HeldWork): Difference {
  const { trainerId, day, counts, source, workedOn } = observation;
  const installs = new Set(contracts.map(({ install }) => install));
  const [install = ''] = installs.size === 1 ? installs : [];
  const [contract, other] = contracts;
  return {
    install,
    contractId: contract !== undefined && other === undefined ? contract.contractId : '',
    trainerId,
    day,
    why: 'held',
    seen: counts,
    sent: null,
    held: { reason, contracts, source, workedOn },
    heldId: heldIdOf(workKey(observation)),
  };
}

function keyOf({ contractId, trainerId, day }: Pick<DueDay, 'contractId' | 'trainerId' | 'day'>): string {
  return JSON.stringify([contractId, trainerId, day]);
}
