import type { Config } from '../config/config-schema.ts';
import { listUndelivered } from '../converge/handover-store.ts';
import { countReceipts } from '../converge/receipt-store.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { readSetting } from '../db/setting-store.ts';
import type { MembershipState } from '../domain/membership.ts';
import { countDisputedContracts } from '../evidence/contract-store.ts';
import { countDeliveries, countTroubled } from '../inbox/delivery-count-store.ts';
import { listTroubledSubscriptions } from '../installs/subscription/subscription-store.ts';
import type { Trouble } from '../installs/subscription/troubles.ts';
import type { Storage } from '../keys/storage.ts';
import { countCleared } from '../memberships/clearance-store.ts';
import { countByState, countUndecided } from '../memberships/membership-list-store.ts';
import { countTroubledDispatches } from '../notify/dispatch-store.ts';
import { type InstallState, listInstallStates } from '../reconcile/read/install-state-store.ts';
import { listSuspects, type Suspect } from '../reconcile/runs/suspect-store.ts';
import { listPlans, type Plan } from '../removals/plan-store.ts';
import { countLowered } from '../usage/report/ledger-store.ts';
import { aboutBudgets, type BudgetStatus, loadBudgets } from './about-budgets.ts';
import { aboutPayments } from './about-payments.ts';
import { aboutUsage } from './about-usage.ts';
import { type Attention, ifAny } from './attention.ts';
import { aboutGuidelines } from './guidelines/about-guidelines.ts';
import { waitsFor } from './list-waiting.ts';

/** How it is now, whatever happened before. */
export interface Present {
  memberships: Rows<typeof countByState>;
  installs: InstallState[];
  plans: Plan[];
  /** Active contracts, by install and by the last read state of their budget. */
  budgets: BudgetStatus['counts'];
  /** Empty where no operator has to act. It lists things of any age. */
  attention: Attention[];
}

/** How Gangway is doing, at a glance. */
export interface Status extends Present {
  since: string;
  deliveries: Rows<typeof countDeliveries>;
  receipts: Rows<typeof countReceipts>;
  removals: Rows<typeof countCleared>;
  /** Days whose usage was reported lower than before. */
  lowered: Rows<typeof countLowered>;
}

type Rows<Count extends (...args: never[]) => unknown> = Awaited<ReturnType<Count>>;

/**
 * @param configured the existing installs: for others nothing is read any more
 * @param mailed the domains that mail may reach; null where no mail is configured
 */
export async function loadStatus(
  ctx: Storage,
  since: string,
  configured: ReadonlyMap<string, { tool: string; guidelines?: boolean }>,
  mailed: Mailed | null = null,
): Promise<Status> {
  const { kysely } = ctx.database;
  return {
    since,
    ...(await loadPresent(ctx, configured, mailed)),
    deliveries: await countDeliveries(kysely, since),
    receipts: await countReceipts(kysely, since),
    removals: await countCleared(kysely, since),
    lowered: await countLowered(ctx, since),
  };
}

/** The part of the status that needs no count of what happened lately. */
export async function loadPresent(
  ctx: Storage,
  configured: ReadonlyMap<string, { tool: string; guidelines?: boolean }>,
  mailed: Mailed | null,
): Promise<Present> {
  const isConfigured = ({ install }: { install: string }) => configured.has(install);
  const budgets = await loadBudgets(ctx, configured);
  const present = {
    budgets: budgets.counts,
    memberships: (await countByState(ctx.database.kysely)).sort(byToolAndState),
    installs: (await listInstallStates(ctx)).filter(isConfigured),
    plans: await listPlans(ctx, { state: 'open' }),
  };
  const disputed = await countDisputedContracts(ctx);
  const troubled = await countTroubled(ctx.database.kysely);
  const undecided = await countUndecided(ctx.database.kysely);
  const endpoints = (await listTroubledSubscriptions(ctx)).filter(isConfigured);
  const suspects = await listSuspects(ctx, [...configured.keys()], mostSuspects);
  const attention = [
    ...(configured.size === 0 ? [noInstall] : []),
    ...findAttention(present, disputed, troubled, endpoints),
    ...aboutUndecided(undecided),
    ...aboutSuspects(suspects),
    ...(await aboutInvitations(ctx.database, mailed)),
    ...aboutBudgets(budgets),
    ...(await aboutPayments(ctx, configured)),
    ...(await aboutUsage(ctx, configured)),
    ...(await aboutGuidelines(ctx, configured)),
    ...(await aboutNotices(ctx)),
    ...aboutClock(await loadClockDrift(ctx.database)),
  ];
  return { ...present, attention };
}

export const noInstall: Attention = {
  says: 'no customer is connected, so no trainer is hired into a tool',
  action: 'gangway connect <a name for them>',
  page: '/connect',
};

/** Members that Gangway did not add, or does not know as its own after a restore. */
function aboutUndecided({ wanted, leftIn }: { wanted: number; leftIn: number }): Attention[] {
  const action =
    'gangway members --undecided lists them; gangway members adopt <id> has them removed, gangway members release <id> lets them stay, and --undecided instead of <id> decides about all';
  return [
    ...ifAny('members who were left in after their contract ended', leftIn, action, '/access?state=released'),
    ...ifAny('members who were in before Gangway added them, and stay when their contract ends', wanted, action),
  ];
}

/** More than that are not counted: something is wrong with all of them. */
const mostSuspects = 1000;

function aboutSuspects(suspects: Suspect[]): Attention[] {
  const [oldest] = suspects;
  if (oldest === undefined) return [];
  const count = suspects.length < mostSuspects ? suspects.length : `${mostSuspects} or more`;
  const says = `contracts that are no longer listed, and not said to have ended: ${count}, the oldest since ${oldest.since}`;
  const action = 'gangway contracts list --suspects, then gangway contracts end <id> for what is over';
  return [{ says, action, page: '/contracts?suspects=yes' }];
}

interface Mailed {
  managedDomains: readonly string[];
  now: string;
}

export function toMailed({ mail, marketplace }: Config, now: string): Mailed | null {
  return mail === undefined ? null : { managedDomains: marketplace.managedDomains, now };
}

/** Leaves out invitations that the mail delivers without trouble. */
async function aboutInvitations(database: Database, mailed: Mailed | null): Promise<Attention[]> {
  const { managedDomains, now } = mailed ?? { managedDomains: [], now: '' };
  const waiting = await listUndelivered(database.kysely, managedDomains);
  const left = waiting.filter(
    (one) => one.failure !== null || waitsFor(one, { now, hasMail: mailed !== null }) !== 'mail',
  );
  return ifAny(
    'people who wait for their invitation to be handed over',
    left.length,
    'gangway members --waiting says what for, and the command to tell each by',
    '/invitations',
  );
}

/** The drift that was stored last, in seconds; positive if the clock here is ahead. */
async function loadClockDrift(database: Database): Promise<number> {
  return Number(await inTransaction(database, (tx) => readSetting(tx, 'clock_drift_seconds'))) || 0;
}

function aboutClock(driftSeconds: number): Attention[] {
  if (driftSeconds === 0) return [];
  const by = `${Math.abs(driftSeconds)} s ${driftSeconds < 0 ? 'behind' : 'ahead of'}`;
  return [
    {
      says: `the clock of a running instance is ${by} that of the marketplace`,
      action: 'let its machine keep time by NTP: deliveries are refused over 300 s',
      page: '/doctor',
    },
  ];
}

interface ToolState {
  tool: string;
  state: MembershipState;
}

function byToolAndState(a: ToolState, b: ToolState): number {
  return a.tool.localeCompare(b.tool) || a.state.localeCompare(b.state);
}

function findAttention(
  { memberships, installs, plans }: Omit<Present, 'attention'>,
  disputed: number,
  troubled: Rows<typeof countTroubled>,
  endpoints: { install: string; trouble: Trouble }[],
): Attention[] {
  const inState = (state: MembershipState) => sum(memberships.filter((membership) => membership.state === state));
  const left = (state: 'failed' | 'unprocessable') => sum(troubled.filter((delivery) => delivery.state === state));
  return [
    ...plans.map(({ id, install, size }) => ({
      says: `plan ${id} holds removals of ${install}: ${size}`,
      action: `gangway plans show ${id}, then approve or reject it`,
      page: `/plans/${id}`,
    })),
    ...installs.flatMap(toAttention),
    ...endpoints.map(({ install, trouble }) => ({ ...trouble, page: pageOf(install) })),
    ...ifAny('orphaned memberships', inState('orphaned'), 'gangway retire --all shows them', '/access?state=orphaned'),
    ...ifAny(
      'memberships that their tool refuses',
      inState('failed'),
      'gangway members --state failed',
      '/access?state=failed',
    ),
    ...ifAny(
      'people without a work address',
      inState('waiting_email'),
      'gangway members --waiting, then ask the customer for consent to share it',
      '/access?state=waiting_email',
    ),
    ...ifAny(
      'disputed contracts',
      disputed,
      'gangway contracts list --status disputed; then gangway contracts reopen <id> if it goes on, or end it at the marketplace',
      '/contracts?status=disputed',
    ),
    ...ifAny(
      'deliveries that were given up',
      left('failed'),
      'gangway deliveries list --state failed, then gangway deliveries replay --failed',
      '/deliveries?state=failed',
    ),
    ...ifAny(
      'deliveries that could not be read',
      left('unprocessable'),
      'gangway deliveries list --state unprocessable; a later version may read them',
      '/deliveries?state=unprocessable',
    ),
  ];
}

/** Installs that wait for a reading, and what keeps it from succeeding. */
function toAttention({ install, heldSince, failure }: InstallState): Attention[] {
  if (heldSince === null && failure === null) return [];
  const waits = heldSince === null ? '' : `, and nothing older than ${heldSince} is acted on before`;
  if (failure === null) {
    return [
      {
        says: `${install} is still to be read from the marketplace${waits}`,
        action: 'wait for it: a running "gangway start" reads it',
        page: pageOf(install),
      },
    ];
  }
  return [
    {
      says: `${install} could not be read from the marketplace${waits}: ${failure}`,
      action: `check installs.${install}.token and marketplace.baseUrl; it is tried again by itself`,
      page: pageOf(install),
    },
  ];
}

function pageOf(install: string): string {
  return `/installs/${encodeURIComponent(install)}`;
}

function sum(rows: { count: number }[]): number {
  return rows.reduce((total, { count }) => total + count, 0);
}

/** Channels that have not accepted their notices yet: shown long before the notices are given up. */
async function aboutNotices(ctx: Storage): Promise<Attention[]> {
  const troubled = await countTroubledDispatches(ctx);
  return troubled.map(({ channel, count }) => ({
    says: `notices that the channel ${channel} has not taken yet: ${count}`,
    action: `gangway notifications list --state waiting says why; after mending it: gangway notifications test --channel ${channel}`,
    page: '/notifications?state=waiting',
  }));
}
