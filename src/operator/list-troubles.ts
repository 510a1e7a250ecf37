import { countBudgetsByState, countFailingBudgets } from '../budget/budget-store.ts';
import { listFailingPayments, listPendingPayments, mostNamed } from '../budget/payment-store.ts';
import { listFailingReaders } from '../budget/reader-store.ts';
import type { Config } from '../config/config-schema.ts';
import { listUndelivered } from '../converge/handover-store.ts';
import { inTransaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { readSetting } from '../db/setting-store.ts';
import { isBlocked } from '../domain/guideline-state.ts';
import { countDisputedContracts } from '../evidence/contract-store.ts';
import { listManualReadings } from '../guidelines/guideline-reading-store.ts';
import { listGuidelines } from '../guidelines/guideline-store.ts';
import { countTroubled } from '../inbox/delivery-count-store.ts';
import { listTroubledSubscriptions } from '../installs/subscription/subscription-store.ts';
import type { Storage } from '../keys/storage.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import { sayCount } from '../lib/say-count.ts';
import type { TroubleKind } from '../lib/trouble-rules.ts';
import { byUrgency, type Trouble, type TroubleFacts, toTrouble } from '../lib/troubles.ts';
import { countUndecided } from '../memberships/membership-list-store.ts';
import { countTroubledDispatches } from '../notify/dispatch-store.ts';
import { listInstallStates } from '../reconcile/read/install-state-store.ts';
import { listSuspects } from '../reconcile/runs/suspect-store.ts';
import { listPlans } from '../removals/plan-store.ts';
import { listUsageTroubles } from '../usage/due/trouble-store.ts';
import { listFallenTotals, listScopes } from '../usage/read/scope-store.ts';
import { toWorkTrouble } from '../usage/report/usage-alerts.ts';
import { findToolTroubles } from './find-tool-troubles.ts';
import { countStuckPeople } from './install-people-store.ts';
import { type ConfigFile, findInstanceTroubles } from './load-running.ts';
import { waitsFor } from './waits-for.ts';

/** What the troubles are looked for with. Every `Context` is one. */
export interface Watched extends Storage {
  config: Pick<Config, 'mail' | 'marketplace'>;
  /** For installs that are not in it nothing is read any more. */
  installs: ReadonlyMap<string, { tool: string; guidelines?: boolean }>;
  /** The clock of the database. */
  clock: Clock;
}

/** A reading that fails once or twice is repeated by itself, and no operator has to act. */
const worryingFailures = 3;

/** Everything that needs an operator, the worst first. It lists things of any age. */
export async function listTroubles(ctx: Watched, file?: ConfigFile): Promise<Trouble[]> {
  const now = ctx.clock.now();
  const ofInstances = await findInstanceTroubles(ctx, now, file);
  const isAnyRunning = !ofInstances.some(({ kind }) => kind === 'nothing_runs');
  const found = [
    ...ofInstances,
    ...(await findToolTroubles(ctx, now, isAnyRunning)),
    ...(ctx.installs.size === 0 ? [{ kind: 'no_customer' } as const] : []),
    ...(await findRemovals(ctx)),
    ...(await findOfInstalls(ctx)),
    ...(await findOfMembers(ctx)),
    ...(await findOfContracts(ctx)),
    ...(await findInvitations(ctx)),
    ...(await findDeliveries(ctx)),
    ...(await findBudgets(ctx)),
    ...(await findPayments(ctx)),
    ...(await findHeldWork(ctx)),
    ...(await findUncounted(ctx)),
    ...(await findUnreadScopes(ctx)),
    ...(await findGuidelines(ctx)),
    ...(await findChannels(ctx)),
    ...(await findClockDrift(ctx)),
  ];
  return found.map(toTrouble).sort(byUrgency);
}

type Found = Promise<TroubleFacts[]>;

function countOf(kind: TroubleKind, count: number, more: Partial<TroubleFacts> = {}): TroubleFacts[] {
  return count === 0 ? [] : [{ kind, count, ...more }];
}

function isOf({ installs }: Watched) {
  return ({ install }: { install: string }) => installs.has(install);
}

async function findRemovals(ctx: Watched): Found {
  const plans = await listPlans(ctx, { state: 'open' });
  return plans.map(({ id, install, size, createdAt }) => {
    return { kind: 'removals_held', install, count: size, since: createdAt, names: { plan: String(id) } };
  });
}

/** Installs that wait for a reading, and what keeps webhooks from coming. */
async function findOfInstalls(ctx: Watched): Found {
  const states = (await listInstallStates(ctx)).filter(isOf(ctx));
  const endpoints = (await listTroubledSubscriptions(ctx)).filter(isOf(ctx));
  return [
    ...states
      .filter(({ heldSince, failure }) => heldSince !== null || failure !== null)
      .map(({ install, heldSince, readWantedAt, failure }): TroubleFacts => {
        const waits = heldSince === null ? [] : [`Events older than ${heldSince} wait for this reading`];
        const detail = [...(failure === null ? [] : [failure]), ...waits].join('. ');
        const kind = failure === null ? 'install_new' : 'install_unread';
        return { kind, install, since: heldSince ?? readWantedAt, detail };
      }),
    ...endpoints.map(({ install, trouble: { says: detail, action } }): TroubleFacts => {
      return { kind: 'endpoint_trouble', install, detail, action };
    }),
  ];
}

const kindOfState = {
  failed: 'membership_failed',
  waiting_email: 'work_email_missing',
  orphaned: 'membership_orphaned',
} as const;

async function findOfMembers({ database }: Watched): Found {
  const stuck = await countStuckPeople(database);
  const { wanted, leftIn } = await countUndecided(database.kysely);
  return [
    ...stuck.map(({ state, ...facts }) => ({ kind: kindOfState[state], ...facts })),
    ...countOf('members_left_in', leftIn),
    ...countOf('members_undecided', wanted),
  ];
}

/** More suspects than that are not counted: something is wrong with all of them. */
const mostSuspects = 1000;

async function findOfContracts(ctx: Watched): Found {
  const suspects = await listSuspects(ctx, [...ctx.installs.keys()], mostSuspects);
  const [{ since } = { since: null }] = suspects;
  const names: Record<string, string> = suspects.length < mostSuspects ? { more: '' } : { more: ' or more' };
  return [
    ...countOf('contract_disputed', await countDisputedContracts(ctx)),
    ...countOf('contract_suspect', suspects.length, { since, names }),
  ];
}

/** Leaves out invitations that the mail delivers without trouble. */
async function findInvitations({ database, config, clock }: Watched): Found {
  const hasMail = config.mail !== undefined;
  const now = toInstant(clock.now());
  const waiting = await listUndelivered(database.kysely, hasMail ? config.marketplace.managedDomains : []);
  const left = waiting.filter((one) => one.failure !== null || waitsFor(one, { now, hasMail }) !== 'mail');
  const [since = null] = left.map(({ createdAt }) => createdAt).sort();
  const detail = hasMail ? null : 'No mail server is configured, so Gangway cannot send them';
  return countOf('invitation_waiting', left.length, { since, detail });
}

async function findDeliveries({ database }: Watched): Found {
  const counts = await countTroubled(database.kysely);
  return counts.flatMap(({ state, count }) =>
    countOf(state === 'failed' ? 'delivery_failed' : 'delivery_unprocessable', Number(count)),
  );
}

async function findBudgets(ctx: Watched): Found {
  const counts = (await countBudgetsByState(ctx)).filter(isOf(ctx));
  const unread = (await countFailingBudgets(ctx, worryingFailures)).filter(isOf(ctx));
  const silent = (await listFailingReaders(ctx, worryingFailures)).filter(isOf(ctx));
  return [
    ...counts.flatMap(({ install, state, count }): TroubleFacts[] =>
      state === 'low' || state === 'depleted' ? [{ kind: `budget_${state}`, install, count: Number(count) }] : [],
    ),
    ...unread.map(({ install, count }): TroubleFacts => {
      const what = `budgets of ${sayCount(Number(count), 'contract')}`;
      return { kind: 'reading_fails', install, count: Number(count), names: { what } };
    }),
    ...silent.map((one) => readingFails('budgets', one)),
  ];
}

function readingFails(what: string, { install, failure }: { install: string; failure: string | null }): TroubleFacts {
  return { kind: 'reading_fails', install, detail: failure, names: { what } };
}

async function findPayments(ctx: Watched): Found {
  const waiting = (await listPendingPayments(ctx)).filter(isOf(ctx));
  const failing = (await listFailingPayments(ctx, worryingFailures)).filter(isOf(ctx));
  const others = Map.groupBy(waiting.slice(mostNamed), ({ install }) => install);
  return [
    ...waiting.slice(0, mostNamed).map(toPayment),
    ...[...others].map(([install, some]): TroubleFacts => {
      const { length: count, [0]: oldest } = some;
      const payment = sayCount(count, 'more payment');
      return { kind: 'payment_waiting', install, since: oldest?.firstSeenAt ?? null, count, names: { payment } };
    }),
    ...failing.map((one) => readingFails('waiting payments', one)),
  ];
}

function toPayment({ install, paymentId, amountUsd, jobId, url, firstSeenAt }: Row<'pendingPayment'>): TroubleFacts {
  const payment = `A payment${amountUsd === null ? '' : ` of ${amountUsd} USD`}`;
  const detail = `Payment ${paymentId}${jobId === null ? '' : ` for job ${jobId}`}`;
  const action = `Settle it at ${url}`;
  return { kind: 'payment_waiting', install, since: firstSeenAt, count: 1, detail, action, url, names: { payment } };
}

/** Work that is not paid, or may be paid wrongly, before an operator acts. */
async function findHeldWork(ctx: Watched): Found {
  const troubles = await listUsageTroubles(ctx);
  return troubles.filter((one) => one.install === '' || isOf(ctx)(one)).map(toWorkTrouble);
}

/** Work that is read, but not completely. */
async function findUncounted(ctx: Watched): Found {
  const fallen = Map.groupBy(await listFallenTotals(ctx), ({ tool, scope }) => JSON.stringify([tool, scope]));
  return [
    ...(await scopesOf(ctx)).flatMap(({ tool, scope, gap, gapSince }): TroubleFacts[] =>
      gap === null ? [] : [{ kind: 'usage_gap', tool, since: gapSince, detail: gap, names: { scope } }],
    ),
    ...[...fallen.values()].flatMap((some) =>
      some.slice(0, 1).map(({ tool, scope, since }): TroubleFacts => {
        return { kind: 'usage_fallen', tool, since, count: some.length, names: { scope } };
      }),
    ),
  ];
}

async function scopesOf(ctx: Watched): Promise<Row<'usageScope'>[]> {
  const tools = new Set([...ctx.installs.values()].map(({ tool }) => tool));
  return (await listScopes(ctx)).filter(({ tool }) => tools.has(tool));
}

async function findUnreadScopes(ctx: Watched): Found {
  const failing = (await scopesOf(ctx)).filter(
    ({ failingSince, failure }) => failingSince !== null && failure !== null,
  );
  const isWorrying = ({ attempts, alertedAt }: Row<'usageScope'>) => attempts >= worryingFailures || alertedAt !== null;
  const gone = failing.filter(({ goneSince }) => goneSince !== null);
  const others = failing.filter(({ goneSince }) => goneSince === null);
  const [never, before] = [true, false].map((isNew) =>
    others.filter(({ readBeganAt }) => (readBeganAt === null) === isNew),
  );
  return [
    ...perTool(gone, 'usage_gone'),
    ...perTool(never ?? [], 'usage_unread', 'could be read yet'),
    ...perTool((before ?? []).filter(isWorrying), 'usage_unread', 'can be read'),
  ];
}

const mostScopes = 5;

function perTool(scopes: readonly Row<'usageScope'>[], kind: 'usage_gone' | 'usage_unread', can = ''): TroubleFacts[] {
  return [...Map.groupBy(scopes, ({ tool }) => tool)].map(([tool, some]) => {
    const named = some.slice(0, mostScopes).map(({ scope }) => scope);
    const more = some.length > mostScopes ? ` and ${some.length - mostScopes} more` : '';
    const [since = null] = some.map((one) => one.goneSince ?? one.readBeganAt ?? one.failingSince ?? '').sort();
    const names = { can, scopes: `${named.join(', ')}${more}` };
    return { kind, tool, since, count: some.length, detail: some[0]?.failure ?? null, names };
  });
}

async function findGuidelines(ctx: Watched): Found {
  const blocked = (await listGuidelines(ctx)).filter((row) => isOf(ctx)(row) && isBlocked(row));
  const unread = (await listManualReadings(ctx)).filter(
    ({ install, failures }) => ctx.installs.get(install)?.guidelines === true && failures >= worryingFailures,
  );
  return [
    ...blocked.map(({ tool, project, says, install }): TroubleFacts => {
      return { kind: 'guideline_unwritten', install, tool, detail: says, names: { project } };
    }),
    ...unread.map((one) => readingFails('manuals', one)),
  ];
}

/** Channels that have not accepted their notices yet: shown long before the notices are given up. */
async function findChannels(ctx: Watched): Found {
  const troubled = await countTroubledDispatches(ctx);
  return troubled.map(({ channel, count }) => ({ kind: 'channel_failing', count, names: { channel } }));
}

/** The drift that was stored last is in seconds, and positive if the clock of the instance is ahead. */
async function findClockDrift({ database }: Watched): Found {
  const seconds = Number(await inTransaction(database, (tx) => readSetting(tx, 'clock_drift_seconds'))) || 0;
  if (seconds === 0) return [];
  return [{ kind: 'clock_drift', names: { drift: `${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'}` } }];
}
