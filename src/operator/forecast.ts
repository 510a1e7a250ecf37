import { listEnding } from '../budget/pace-store.ts';
import type { Database } from '../db/database.ts';
import type { Instant } from '../domain/evidence.ts';
import { describeCause } from '../domain/standing.ts';
import { toInstant } from '../lib/clock.ts';
import { type ListedMembership, listMemberships, listRemoving } from '../memberships/membership-list-store.ts';
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

/** A contract whose budget is used up by then, at the pace of the week before it was last read: at most a day ago. */
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
    budgets: await listBudgetEnds(database, { from, until, limit }),
    waiting: await listWaiting({ database }, { limit, managedDomains, hasMail, now: from }),
  };
}

interface Window {
  from: Instant;
  until: Instant;
  limit: number;
}

/** Those whose time is known come first, the next one before the others. */
async function listLeaving({ kysely }: Database, { from, until, limit }: Window): Promise<Leaving[]> {
  const timed = await listRemoving(kysely, { until, limit });
  const held = await listMemberships(kysely, { state: 'held', limit });
  return [
    // What was let pass already is done as soon as the tool answers.
    ...timed.map((row) => toLeaving(row, laterOf(row.removeAfter, from))),
    ...held.map((row) => toLeaving(row, null)),
  ].slice(0, limit);
}

function toLeaving(row: ListedMembership, at: Instant | null): Leaving {
  const { id, tool, groupId, trainerId, install, displayName, cause } = row;
  const why = cause === null ? 'no reason is left' : describeCause(cause);
  return { id, tool, groupId, trainerId, install, displayName, at, why };
}

async function listBudgetEnds(database: Database, { from, until, limit }: Window): Promise<BudgetEnd[]> {
  const budgets = await listEnding(database, { until, limit });
  return budgets.map(({ runsOutAt, ...budget }) => ({ ...budget, at: laterOf(runsOutAt, from) }));
}

function laterOf(at: Instant | null, from: Instant): Instant {
  return at === null || at < from ? from : at;
}
