import type { Context } from '../../context.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { isNothing, noCounts, sumCounts } from '../../domain/usage.ts';
import { listEngagements, listScopes, listTrainers, scopeKey, scopeOfLink } from '../read/scope-store.ts';
import { listFallenTotals } from '../read/total-store.ts';
import { dayKey } from '../report/ledger-store.ts';
import { type DueAndLedger, listDays } from './due-store.ts';
import { differenceOf, explainDay } from './explain-day.ts';
import { listHeld } from './held-store.ts';
import { attributeTrainers, refreshAllDue } from './refresh-due.ts';

export type ShownDay = Awaited<ReturnType<typeof showUsage>>['days'][number];

/** The work on one contract, however old. */
export async function showUsage(ctx: Context, { install, contractId }: ContractKey, signal?: AbortSignal) {
  await refreshAllDue(ctx, signal);
  const days: DueAndLedger[] = [];
  for await (const some of listDays(ctx, { install, contractIds: [contractId] })) days.push(...some);
  const trainerIds = await listTrainers(ctx, { install, contractId });
  const attributed = await attributeTrainers(ctx, ctx.database.kysely, { trainerIds, fromDay: '' });
  const sources = new Map(attributed.due.map((one) => [dayKey(one), one.observations]));
  // Also work that an operator decided about.
  const held = await listHeld(ctx, { install, contractId });
  const now = ctx.clock.now();
  const shown = days.filter(isShown).map(({ due, ledger, ...key }) => {
    const { trainerId, day } = key;
    const decided = held.find((one) => one.trainerId === trainerId && one.day === day);
    return {
      trainerId,
      day,
      due: due?.counts ?? null,
      observations: [...(sources.get(dayKey(key)) ?? [])],
      sent: ledger?.answeredAt == null ? null : ledger.answered,
      difference: due === undefined ? null : differenceOf(due.counts, ledger?.answered ?? noCounts),
      why: explainDay(due, ledger, now, decided?.state),
      report: ledger ?? null,
    };
  });
  return {
    install,
    contractId,
    days: shown.sort((a, b) => (`${a.day} ${a.trainerId}` < `${b.day} ${b.trainerId}` ? -1 : 1)),
    held,
    reported: sumCounts(days.map(({ ledger }) => ledger?.answered ?? noCounts)),
  };
}

/** A day with zeros belongs to another contract, and is shown only if it was reported. */
function isShown({ due, ledger }: DueAndLedger): boolean {
  return ledger !== undefined || !isNothing(due?.counts ?? noCounts);
}

/**
 * Why the counts of a contract may be less than the work that was done: what a tool cannot report at present, running
 * totals below what was counted, and scopes that cannot be read.
 */
export async function showGaps(ctx: Context, install: string, contractId: string) {
  const trainerIds = await listTrainers(ctx, { install, contractId });
  const engagements = await listEngagements(ctx.database, ctx.database.kysely, trainerIds);
  const theirs = engagements.filter((one) => one.install === install && one.contractId === contractId);
  const keys = new Set(theirs.map((one) => scopeOfLink(ctx, one)).map((at) => at && scopeKey(at)));
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
