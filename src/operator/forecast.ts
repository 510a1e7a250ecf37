import { listPaces } from '../budget/pace-store.ts';
import type { Database } from '../db/database.ts';
import { paceDays, runsOutAt } from '../domain/budget-pace.ts';
import type { Instant } from '../domain/evidence.ts';
import { describeCause } from '../domain/standing.ts';
import type { Day } from '../domain/usage.ts';
import { toInstant } from '../lib/clock.ts';
import { type ListedMembership, listMemberships } from '../memberships/membership-list-store.ts';
import { listWaiting, type WaitingMember } from './list-waiting.ts';

/** What is to be expected if nothing else is heard until then. */
export interface Forecast {
  from: Instant;
  until: Instant;
  leaving: Leaving[];
  budgets: BudgetEnd[];
  waiting: WaitingMember[];
}

/** A trainer who is to lose their access. */
export interface Leaving extends Pick<ListedMembership, 'id' | 'tool' | 'groupId' | 'trainerId' | 'install'> {
  displayName: string | null;
  /** Null where an operator has to decide about a plan first. */
  at: Instant | null;
  why: string;
}

/** A contract whose budget is used up by then at the pace of the last week. */
export interface BudgetEnd {
  install: string;
  contractId: string;
  title: string | null;
  consumedFraction: number | null;
  at: Instant;
}

interface ForecastWish {
  now: Date;
  days: number;
  /** How many rows each part has at most. */
  limit: number;
  managedDomains: readonly string[];
  hasMail: boolean;
}

const dayMs = 86_400_000;

export async function forecast(database: Database, wish: ForecastWish): Promise<Forecast> {
  const { now, days, limit, managedDomains, hasMail } = wish;
  const [from, until] = [toInstant(now), toInstant(new Date(now.getTime() + days * dayMs))];
  return {
    from,
    until,
    leaving: await listLeaving(database, { from, until, limit }),
    budgets: await listBudgetEnds(database, { now, until, limit }),
    waiting: await listWaiting({ database }, { limit, managedDomains, hasMail, now: from }),
  };
}

interface Window {
  from: Instant;
  until: Instant;
  limit: number;
}

/** The next to leave may be any of them. */
const mostListed = 100_000;

/** Those whose time is known come first, the next one before the others. */
async function listLeaving({ kysely }: Database, { from, until, limit }: Window): Promise<Leaving[]> {
  const removing = await listMemberships(kysely, { state: 'removing', limit: mostListed });
  const held = await listMemberships(kysely, { state: 'held', limit });
  const timed = removing
    // What was let pass already is done as soon as the tool answers.
    .map((row) => toLeaving(row, row.removeAfter === null || row.removeAfter < from ? from : row.removeAfter))
    .filter(({ at }) => at !== null && at <= until)
    .toSorted((a, b) => ((a.at ?? '') < (b.at ?? '') ? -1 : 1));
  return [...timed, ...held.map((row) => toLeaving(row, null))].slice(0, limit);
}

function toLeaving(row: ListedMembership, at: Instant | null): Leaving {
  const { id, tool, groupId, trainerId, install, displayName, cause } = row;
  const why = cause === null ? 'no reason is left' : describeCause(cause);
  return { id, tool, groupId, trainerId, install, displayName, at, why };
}

async function listBudgetEnds(
  database: Database,
  { now, until, limit }: { now: Date; until: Instant; limit: number },
): Promise<BudgetEnd[]> {
  const since = toInstant(new Date(now.getTime() - paceDays * dayMs)).slice(0, 10) as Day;
  const paces = await listPaces(database, since);
  return paces
    .flatMap((pace) => {
      const at = runsOutAt(pace, now);
      if (at === null || at > until) return [];
      const { install, contractId, title, consumedFraction } = pace;
      return [{ install, contractId, title, consumedFraction, at }];
    })
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
    .slice(0, limit);
}
