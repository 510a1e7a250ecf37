import type { Counts, Day } from '../../domain/usage.ts';
import { addCounts, countNames, noCounts } from '../../domain/usage.ts';
import type { DueDay, HeldWork } from '../attribute/attribute-work.ts';
import { openDue } from '../attribute/load-due.ts';
import type { LedgerRow } from '../report/ledger-store.ts';
import type { ReportDeps } from '../report/report-deps.ts';

/** One day of a trainer on a contract: what was seen, and what was said of it. */
export interface ShownDay {
  trainerId: string;
  day: Day;
  seen: Counts | null;
  sent: Counts | null;
  state: LedgerRow['state'] | null;
  sentAt: string | null;
  message: string | null;
}

export interface ShownContract {
  install: string;
  contractId: string;
  days: ShownDay[];
  held: HeldWork[];
  /** Of all days that were ever reported. */
  reported: Counts;
}

/** What is known of the usage of one contract. Changes nothing. */
export async function showUsage(
  deps: ReportDeps,
  install: string,
  contractId: string,
): Promise<ShownContract> {
  const due = await openDue(deps);
  const people = await deps.sources.participants(install, [contractId]);
  const attributed = await due.load([...new Set(people.map(({ trainerId }) => trainerId))]);
  const isOf = (one: { install: string; contractId: string }) =>
    one.install === install && one.contractId === contractId;
  const rows = await deps.ledger.list({ install, contractIds: [contractId] });
  const seen = new Map(attributed.due.filter(isOf).map((day) => [keyOf(day), day]));
  const sent = new Map(rows.map((row) => [keyOf(row), row]));
  // Of a day that went to another contract, nothing is to be seen unless it was told otherwise.
  const isSeen = ({ counts }: DueDay) => countNames.some((name) => counts[name]);
  const seenKeys = [...seen].flatMap(([key, day]) => (isSeen(day) ? [key] : []));
  const keys = [...new Set([...sent.keys(), ...seenKeys])];
  return {
    ...{ install, contractId },
    days: keys.map((key) => toShown(seen.get(key), sent.get(key))).sort(byDay),
    held: attributed.held.filter(({ contracts }) => contracts.some(isOf)),
    reported: rows.reduce((sum, { answered }) => addCounts(sum, answered), noCounts),
  };
}

function toShown(seen: DueDay | undefined, sent: LedgerRow | undefined): ShownDay {
  const { trainerId = '', day = '' } = seen ?? sent ?? {};
  const { state = null, sentAt = null, message = null } = sent ?? {};
  return {
    ...{ trainerId, day, state, sentAt, message },
    seen: seen?.counts ?? null,
    sent: sent?.answeredAt ? sent.answered : null,
  };
}

function keyOf({ trainerId, day }: DueDay | LedgerRow): string {
  return JSON.stringify([day, trainerId]);
}

function byDay(a: ShownDay, b: ShownDay): number {
  return `${a.day} ${a.trainerId}` < `${b.day} ${b.trainerId}` ? -1 : 1;
}
