import type { Context } from '../../context.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { type Counts, isNothing, noCounts, type Observation, sumCounts } from '../../domain/usage.ts';
import { type DueAndLedger, listDays } from '../due/due-store.ts';
import { differenceOf, explainDay, type WhyDifferent } from '../due/explain-day.ts';
import { type HeldRow, listHeld } from '../due/held-store.ts';
import { attributeTrainers, refreshAllDue } from '../due/refresh-due.ts';
import {
  type FallenTotal,
  listEngagements,
  listFallenTotals,
  listScopes,
  listTrainers,
  scopeKey,
  scopeOfLink,
} from '../read/scope-store.ts';
import { type DayKey, dayKey, type LedgerRow } from '../report/ledger-store.ts';

/** The receipt of one day of a trainer on a contract. */
export interface ShownDay extends Pick<DayKey, 'trainerId' | 'day'> {
  due: Counts | null;
  /** Each source's counts, and when it was read. */
  observations: Observation[];
  /** The counts that were answered last. */
  sent: Counts | null;
  /** What is due beyond the answered counts, and why. */
  difference: Counts | null;
  why: WhyDifferent | null;
  /** Null where nothing was sent yet. */
  report: LedgerRow | null;
}

export interface ShownContract extends ContractKey {
  days: ShownDay[];
  /** Work that may be of the contract: held, or decided by an operator. */
  held: HeldRow[];
  /** The sum of all days that were ever reported. */
  reported: Counts;
}

/** What is known of the usage of one contract, of any age. */
export async function showUsage(
  ctx: Context,
  { install, contractId }: ContractKey,
  signal?: AbortSignal,
): Promise<ShownContract> {
  await refreshAllDue(ctx, signal);
  const days: DueAndLedger[] = [];
  for await (const some of listDays(ctx, { install, contractIds: [contractId] })) days.push(...some);
  const trainerIds = await listTrainers(ctx, { install, contractId });
  const attributed = await attributeTrainers(ctx, ctx.database.kysely, trainerIds);
  const sources = new Map(attributed.due.map((one) => [dayKey(one), one.observations]));
  const held = await listHeld(ctx, { install, contractId });
  const toShown = (one: DueAndLedger) => toDay(one, sources, held, ctx.clock.now());
  return {
    install,
    contractId,
    days: days.filter(isShown).map(toShown).sort(byDay),
    held,
    reported: sumCounts(days.map(({ ledger }) => ledger?.answered ?? noCounts)),
  };
}

/** A day with zeros was assigned to another contract, and is shown only where it was reported. */
function isShown({ due, ledger }: DueAndLedger): boolean {
  return ledger !== undefined || !isNothing(due?.counts ?? noCounts);
}

function toDay(
  { due, ledger, ...key }: DueAndLedger,
  sources: ReadonlyMap<string, readonly Observation[]>,
  held: readonly HeldRow[],
  now: Date,
): ShownDay {
  const { trainerId, day } = key;
  const decided = held.find((one) => one.trainerId === trainerId && one.day === day);
  return {
    trainerId,
    day,
    due: due?.counts ?? null,
    observations: [...(sources.get(dayKey(key)) ?? [])],
    sent: ledger === undefined || ledger.answeredAt === null ? null : ledger.answered,
    difference: due === undefined ? null : differenceOf(due.counts, ledger?.answered ?? noCounts),
    why: explainDay(due, ledger, now, decided?.state),
    report: ledger ?? null,
  };
}

function byDay(a: ShownDay, b: ShownDay): number {
  return `${a.day} ${a.trainerId}` < `${b.day} ${b.trainerId}` ? -1 : 1;
}

/** Why the counts of a contract may be less than what was done. */
interface ContractGaps {
  /** What a tool cannot report at present. */
  gaps: { tool: string; scope: string; since: string | null; says: string }[];
  /** Running totals that are below what was counted. */
  fallen: FallenTotal[];
  /** Scopes that cannot be read. */
  failing: { tool: string; scope: string; readAt: string | null; failure: string }[];
}

/** Shows the gaps of the scopes of one contract. Changes nothing. */
export async function showGaps(ctx: Context, install: string, contractId: string): Promise<ContractGaps> {
  const trainerIds = await listTrainers(ctx, { install, contractId });
  const engagements = await listEngagements(ctx.database, ctx.database.kysely, trainerIds);
  const keys = new Set(
    engagements.flatMap((one) => {
      const at = one.install === install && one.contractId === contractId ? scopeOfLink(ctx, one) : undefined;
      return at === undefined ? [] : [scopeKey(at)];
    }),
  );
  const rows = (await listScopes(ctx)).filter((row) => keys.has(scopeKey(row)));
  return {
    gaps: rows.flatMap(({ tool, scope, gap: says, gapSince: since }) =>
      says === null ? [] : [{ tool, scope, since, says }],
    ),
    fallen: (await listFallenTotals(ctx, trainerIds)).filter((one) => keys.has(scopeKey(one))),
    failing: rows.flatMap(({ tool, scope, readBeganAt: readAt, failure }) =>
      failure === null ? [] : [{ tool, scope, readAt, failure }],
    ),
  };
}
