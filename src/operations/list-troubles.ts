import type { Adapter } from '../adapters/adapter.ts';
import { countBudgetsByState, countUnknownBudgets } from '../budget/budget-store.ts';
import { listPendingPayments } from '../budget/payment-store.ts';
import type { Config } from '../config/config-schema.ts';
import type { Storage } from '../context.ts';
import { listUndelivered, waitsFor } from '../converge/invitation-store.ts';
import type { Row } from '../db/schema.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { statusOfLink } from '../domain/evidence-status.ts';
import { isBlocked } from '../domain/guideline-state.ts';
import { countDisputedContracts, listLiveLinks } from '../evidence/contract-store.ts';
import { listGuidelines } from '../guidelines/guideline-store.ts';
import { countTroubled } from '../inbox/delivery-list-store.ts';
import { listFailingJobs } from '../jobs/job-store.ts';
import { type Clock, dayMs, instantIn, toInstant } from '../lib/clock.ts';
import { sayCount } from '../lib/text.ts';
import { byUrgency, type Trouble, type TroubleFacts, type TroubleKind, toTrouble } from '../lib/troubles.ts';
import { countStuckPeople, countUndecided } from '../memberships/membership-list-store.ts';
import { explainCrossing, outsideOf, usageScopeOf } from '../memberships/wall.ts';
import { countTroubledDispatches } from '../notify/notice-store.ts';
import { listInstallStates } from '../reconcile/read/install-state-store.ts';
import { listSuspects } from '../reconcile/runs/suspect-store.ts';
import { listPlans } from '../removals/plan-store.ts';
import { listTroubledSubscriptions } from '../subscription/subscription-store.ts';
import { findApprovals } from './find-hire-troubles.ts';
import { findOpenAlerts, findRaised, findToolTroubles, findWorkTroubles, worryingFailures } from './find-troubles.ts';
import { type ConfigFile, findInstanceTroubles } from './trouble.ts';

/** What it takes to find troubles. Every `Context` has it. */
export interface Watched extends Storage {
  config: Pick<Config, 'mail' | 'marketplace'>;
  installs: ReadonlyMap<string, { tool: string; projects: readonly string[]; guidelines?: boolean }>;
  /** Without adapters, as in short commands, the link troubles that an instance found are listed. */
  adapters?: ReadonlyMap<string, Adapter> | undefined;
  /** The clock of the database. */
  clock: Clock;
}

/** Everything that needs an operator, the worst first. */
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
    ...(await findLinks(ctx)),
    ...(await findOfContracts(ctx)),
    ...(await findInvitations(ctx)),
    ...(await findDeliveries(ctx)),
    ...(await findBudgets(ctx)),
    ...(await findPayments(ctx)),
    ...(await findApprovals(ctx)).filter(({ install = '' }) => ctx.installs.has(install ?? '')),
    ...(await findFailingJobs(ctx)),
    ...(await findWorkTroubles(ctx)),
    ...(await findGuidelines(ctx)),
    ...(await findChannels(ctx)),
    ...(await findRaised(ctx)),
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
    return { kind: 'removals_held', install, count: size, since: createdAt, about: { plan: String(id) } };
  });
}

/** Installs that could not be read, and endpoints that do not work. */
async function findOfInstalls(ctx: Watched): Found {
  const states = (await listInstallStates(ctx)).filter(isOf(ctx));
  const endpoints = (await listTroubledSubscriptions(ctx)).filter(isOf(ctx));
  return [
    ...states
      .filter(({ heldSince, failure }) => heldSince !== null || failure !== null)
      .map(({ install, heldSince, failingSince, failure, failureCode }): TroubleFacts => {
        const waits = heldSince && `Events older than ${heldSince} wait for this reading`;
        const detail = [failure, waits].filter(Boolean).join('. ');
        const kind = failure === null ? 'install_new' : kindOfRefusal(failureCode);
        return { kind, install, since: heldSince ?? failingSince, detail };
      }),
    ...endpoints.map(({ install, trouble: { says: detail, action, isTransient } }): TroubleFacts => {
      return { kind: isTransient ? 'endpoint_unchecked' : 'endpoint_trouble', install, detail, action };
    }),
  ];
}

function kindOfRefusal(code: ErrorCode | null): TroubleKind {
  if (code === 'conflict') return 'other_customer';
  return code === 'unauthenticated' || code === 'forbidden' ? 'marketplace_refuses' : 'install_unread';
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

/** More suspects are not counted: then something is wrong with the reading. */
const mostSuspects = 1000;

async function findOfContracts(ctx: Watched): Found {
  const disputed = await countDisputedContracts(ctx);
  const found = disputed.map(({ install, count }): TroubleFacts => ({ kind: 'contract_disputed', install, count }));
  for (const install of ctx.installs.keys()) {
    const { length: count, 0: oldest } = await listSuspects(ctx, [install], mostSuspects);
    const more = count < mostSuspects ? '' : ' or more';
    found.push(...countOf('contract_suspect', count, { install, since: oldest?.since ?? null, names: { more } }));
  }
  return found;
}

function oldestOf(some: readonly { createdAt: string }[]): string | null {
  return some.map(({ createdAt }) => createdAt).sort()[0] ?? null;
}

/** Leaves out invitations that Gangway mails without trouble. */
async function findInvitations({ database, config, clock }: Watched): Found {
  const hasMail = config.mail !== undefined;
  const now = toInstant(clock.now());
  const waiting = await listUndelivered(database.kysely, hasMail ? config.marketplace.managedDomains : []);
  const { refused = [], left = [] } = Object.groupBy(waiting, (one) => {
    if (one.failure !== null) return one.nextAttemptAt === null ? 'refused' : 'left';
    return waitsFor(one, { now, hasMail }) === 'mail' ? 'mailed' : 'left';
  });
  const detail = hasMail ? null : 'No mail server is configured, so Gangway cannot send them';
  return [
    ...countOf('invitation_waiting', left.length, { since: oldestOf(left), detail }),
    ...countOf('invitation_refused', refused.length, { since: oldestOf(refused) }),
  ];
}

async function findDeliveries({ database }: Watched): Found {
  const counts = await countTroubled(database.kysely);
  return counts.flatMap(({ state, count }) =>
    countOf(state === 'failed' ? 'delivery_failed' : 'delivery_unprocessable', count),
  );
}

async function findBudgets(ctx: Watched): Found {
  const counts = (await countBudgetsByState(ctx)).filter(isOf(ctx));
  const unknown = (await countUnknownBudgets(ctx)).filter(isOf(ctx));
  return [
    ...counts.flatMap(({ install, state, count }): TroubleFacts[] =>
      state === 'low' || state === 'depleted' ? [{ kind: `budget_${state}`, install, count }] : [],
    ),
    ...unknown.map(({ install, count }) => {
      const detail = 'The marketplace does not have them on a linked job';
      return { ...readingFails('unknown contracts', { install, failure: detail }), ...budgetsOf(count) };
    }),
  ];
}

function budgetsOf(count: number) {
  return { count, names: { what: `budgets of ${sayCount(count, 'contract')}` } };
}

const mostPayments = 20;
const mostLinks = 5;

function readingFails(what: string, { install, failure }: { install: string; failure: string | null }): TroubleFacts {
  return { kind: 'reading_fails', install, detail: failure, about: { reading: what }, names: { what } };
}

async function findPayments(ctx: Watched): Found {
  const waiting = (await listPendingPayments(ctx)).filter(isOf(ctx));
  return nameFirst(waiting, mostPayments, toPayment, ([install, { length: count, 0: oldest }]) => {
    const payment = sayCount(count, 'more payment');
    return { kind: 'payment_waiting', install, since: oldest?.firstSeenAt ?? null, count, names: { payment } };
  });
}

function toPayment({ install, paymentId, amountUsd, jobId, url, firstSeenAt }: Row<'pendingPayment'>): TroubleFacts {
  const payment = `A payment${amountUsd === null ? '' : ` of ${amountUsd} USD`}`;
  const detail = `Payment ${paymentId}${jobId === null ? '' : ` for job ${jobId}`}`;
  const facts = { install, since: firstSeenAt, count: 1, detail, action: `Settle it at ${url}`, url };
  return { kind: 'payment_waiting', ...facts, about: { payment: paymentId }, names: { payment } };
}

/** What the jobs of an install read. */
const readings = new Map([
  ['budget', 'budgets'],
  ['guidelines', 'manuals'],
  ['payments', 'waiting payments'],
  ['token expiry', 'tokens'],
]);

/** Jobs that have failed several times in a row. Subscriptions and readings of work have troubles of their own. */
async function findFailingJobs(ctx: Watched): Found {
  const failing = await listFailingJobs(ctx, worryingFailures, ['feed']);
  return failing.flatMap(({ kind, install, since, failure, count, holdsOthers }): TroubleFacts[] => {
    if (install === '') return [{ kind: 'job_failing', since, detail: failure, about: { job: kind } }];
    if (!ctx.installs.has(install)) return [];
    if (kind === 'feed') return [{ kind: 'feed_unread', install, since, detail: failure }];
    const what = readings.get(kind);
    if (what === undefined) return [];
    return [
      { ...readingFails(what, { install, failure }), ...(kind === 'budget' && !holdsOthers && budgetsOf(count)) },
    ];
  });
}

/** Names the first few of each install and counts the rest, so that one customer with many does not hide the others. */
function nameFirst<One extends { install: string }>(
  all: readonly One[],
  most: number,
  toFacts: (one: One) => TroubleFacts,
  sumUp: (others: [install: string, others: One[]]) => TroubleFacts,
): TroubleFacts[] {
  return [...Map.groupBy(all, ({ install }) => install)].flatMap(([install, some]) => [
    ...some.slice(0, most).map(toFacts),
    ...(some.length > most ? [sumUp([install, some.slice(most)])] : []),
  ]);
}

/** Links that give nobody access, and links whose work is not read. */
async function findLinks(watched: Watched): Found {
  // A command that loads no adapters throws if the field is read.
  if (!('adapters' in watched) || watched.adapters === undefined) {
    return (await findOpenAlerts(watched)).filter(({ kind }) => kind.startsWith('link_'));
  }
  const { installs, adapters } = watched;
  const known = (await listLiveLinks(watched)).filter(isOf(watched));
  const live = known
    .filter((link) => statusOfLink(link) === 'live')
    .map((link) => ({ ...link, crossing: outsideOf({ installs, adapters }, link) }));
  const outside = live.flatMap(({ crossing, ...link }) => (crossing === null ? [] : [{ ...link, crossing }]));
  const uncounted = live.filter((link) => {
    const adapter = adapters.get(installs.get(link.install)?.tool ?? '');
    const isRead = link.externalProjectId !== null && adapter?.usageScopeFor !== undefined;
    return isRead && link.crossing === null && usageScopeOf(adapter, link) === undefined;
  });
  const counting =
    (kind: TroubleKind) =>
    ([install, { length: count }]: [string, object[]]) => ({ kind, install, count });
  return [
    ...nameFirst(
      outside,
      mostLinks,
      (link): TroubleFacts => {
        const { says: detail, action } = explainCrossing(link.crossing, link);
        const { install, linkId } = link;
        return { kind: 'link_outside', install, count: 1, about: { link: linkId }, detail, action };
      },
      counting('link_outside'),
    ),
    ...nameFirst(
      uncounted,
      mostLinks,
      ({ install, linkId: link, externalProjectId }): TroubleFacts => {
        return { kind: 'link_uncounted', install, count: 1, about: { link }, detail: `Project ${externalProjectId}` };
      },
      counting('link_uncounted'),
    ),
  ];
}

async function findGuidelines(ctx: Watched): Found {
  // A project for which nothing is published any more is not looked at again.
  const before = instantIn(ctx.clock, -dayMs);
  const blocked = (await listGuidelines(ctx)).filter(
    (row) => isOf(ctx)(row) && isBlocked(row) && row.lookedAt > before,
  );
  return blocked.map(({ tool, project, says, install }): TroubleFacts => {
    return { kind: 'guideline_unwritten', install, tool, detail: says, about: { project } };
  });
}

async function findChannels(ctx: Watched): Found {
  const troubled = await countTroubledDispatches(ctx);
  return troubled.map(({ channel, count }) => ({ kind: 'channel_failing', count, about: { channel } }));
}
