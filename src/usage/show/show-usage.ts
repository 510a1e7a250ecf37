import type { Context } from '../../context.ts';
import { addCounts, type Counts, countNames, type Day, noCounts, type Observation } from '../../domain/usage.ts';
import type { DueDay, HeldWork } from '../attribute/attribute-work.ts';
import { openDue } from '../attribute/load-due.ts';
import { differenceOf, explainDay, type WhyDifferent } from '../compare/explain-day.ts';
import { listParticipants } from '../read/contract-source-store.ts';
import { type LedgerRow, listLedger } from '../report/ledger-store.ts';

/** The receipt of one day of a trainer on a contract. */
export interface ShownDay {
  trainerId: string;
  day: Day;
  seen: Counts | null;
  /** Each source's counts, and when it was read. */
  observations: ShownObservation[];
  /** The counts that were answered last. */
  sent: Counts | null;
  /** What was seen beyond the answered counts, and why. */
  difference: Counts | null;
  why: WhyDifferent | null;
  state: LedgerRow['state'] | null;
  sentAt: string | null;
  answeredAt: string | null;
  /** Of the last answer, where it was a refusal. */
  status: number | null;
  message: string | null;
  /** The marketplace's id of the request, where it gave one. */
  requestId: string | null;
  /** The id of the day at the marketplace. */
  reportId: string | null;
  /** Until then a request may arrive whose outcome is unknown. */
  doubtedUntil: string | null;
  heldSince: string | null;
  /** What was reported less than before. */
  lowered: LedgerRow['lowered'];
}

export type ShownObservation = Pick<Observation, 'source' | 'workedOn' | 'counts' | 'seenAt'>;

export interface ShownContract {
  install: string;
  contractId: string;
  days: ShownDay[];
  held: HeldWork[];
  /** The sum of all days that were ever reported. */
  reported: Counts;
  /** The days of the ledger, including those in doubt. */
  ledger: LedgerRow[];
}

/** What is known of the usage of one contract. Changes nothing. */
export async function showUsage(ctx: Context, install: string, contractId: string): Promise<ShownContract> {
  const due = await openDue(ctx, { keepsObservations: true });
  const people = await listParticipants(ctx, install, [contractId]);
  const attributed = await due.load([...new Set(people.map(({ trainerId }) => trainerId))]);
  const isOf = (one: { install: string; contractId: string }) =>
    one.install === install && one.contractId === contractId;
  const ledger = await listLedger(ctx, { install, contractIds: [contractId] });
  const seen = new Map(attributed.due.filter(isOf).map((day) => [keyOf(day), day]));
  const sent = new Map(ledger.map((row) => [keyOf(row), row]));
  // A day with zeros was assigned to another contract, and is shown only where it was reported.
  const isSeen = ({ counts }: DueDay) => countNames.some((name) => counts[name]);
  const seenKeys = [...seen].flatMap(([key, day]) => (isSeen(day) ? [key] : []));
  const keys = [...new Set([...sent.keys(), ...seenKeys])];
  const toShown = (key: string) =>
    toDay(seen.get(key), sent.get(key), { now: ctx.clock.now(), firstDay: due.firstDay });
  return {
    install,
    contractId,
    ledger,
    days: keys.map(toShown).sort(byDay),
    held: attributed.held.filter(({ contracts }) => contracts.some(isOf)),
    reported: ledger.reduce((sum, { answered }) => addCounts(sum, answered), noCounts),
  };
}

function toDay(
  seen: DueDay | undefined,
  row: LedgerRow | undefined,
  { now, firstDay }: { now: Date; firstDay: Day },
): ShownDay {
  const { trainerId = '', day = '' } = seen ?? row ?? {};
  const { state = null, sentAt = null, answeredAt = null, status = null } = row ?? {};
  const { message = null, requestId = null, reportId = null } = row ?? {};
  const { doubtedUntil = null, heldSince = null, lowered = null } = row ?? {};
  // Days before the look-back are not read again.
  const isOld = seen === undefined && day < firstDay && row?.state === 'answered';
  return {
    trainerId,
    day,
    state,
    sentAt,
    answeredAt,
    status,
    message,
    requestId,
    reportId,
    doubtedUntil,
    heldSince,
    lowered,
    seen: seen?.counts ?? null,
    observations: (seen?.observations ?? []).map(({ source, workedOn, counts, seenAt }) => ({
      source,
      workedOn,
      counts,
      seenAt,
    })),
    sent: answeredAt === null ? null : (row?.answered ?? null),
    difference: seen === undefined ? null : differenceOf(seen.counts, row?.answered ?? noCounts),
    why: isOld ? null : explainDay(seen, row, now),
  };
}

function keyOf({ trainerId, day }: DueDay | LedgerRow): string {
  return JSON.stringify([day, trainerId]);
}

function byDay(a: ShownDay, b: ShownDay): number {
  return `${a.day} ${a.trainerId}` < `${b.day} ${b.trainerId}` ? -1 : 1;
}
