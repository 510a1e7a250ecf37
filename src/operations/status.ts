import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import { countBudgetsByState } from '../budget/budget-store.ts';
import type { Context } from '../context.ts';
import { countReceipts, listMetAfter, type MetAfter } from '../converge/receipt-store.ts';
import { budgetStates } from '../domain/budget.ts';
import { deliveryStates } from '../domain/delivery.ts';
import type { Install as Connected } from '../domain/install.ts';
import { membershipStates } from '../domain/membership.ts';
import { countDeliveries } from '../inbox/delivery-list-store.ts';
import { dayMs, instantIn } from '../lib/clock.ts';
import { sayInFull } from '../lib/troubles.ts';
import { toDurationMs } from '../lib/units.ts';
import { countCleared } from '../memberships/clearance-store.ts';
import { countByState } from '../memberships/membership-list-store.ts';
import { listInstallStates } from '../reconcile/read/install-state-store.ts';
import { listPlans } from '../removals/plan-store.ts';
import { countLowered } from '../usage/report/ledger-store.ts';
import { listTroubles, type Watched } from './list-troubles.ts';
import { group, read } from './operation.ts';
import type { Cell } from './show.ts';
import { formatTable } from './text-table.ts';
import { type ConfigFile, loadInstances, sayTrouble, Trouble } from './trouble.ts';
import { count, flag, instant, maybeInstant, maybeText, named, Plan } from './values.ts';

/** How Gangway is doing. */

const duration = /^[0-9]{1,4}(ms|s|m|h|d)$/;

const Instance = named('Instance', {
  name: z.string(),
  version: z.string(),
  startedAt: instant,
  beatAt: instant,
  stoppedAt: maybeInstant,
  state: z.enum(['running', 'silent', 'stopped']),
  silentForSeconds: z.number(),
});

export const Install = named('Install', {
  install: z.string(),
  livesIn: z.enum(['configuration', 'database']),
  tool: z.string(),
  projects: z.array(z.string()),
  readAt: maybeInstant.describe('When the last complete reading began.'),
  failure: maybeText.describe('Why the latest reading failed.'),
  troubles: z.array(z.string()).describe('What is wrong at the marketplace, or with its endpoint, tool or people.'),
});

const Times = z.object({ count, medianMs: z.number().nullable(), p95Ms: z.number().nullable() });

const Status = z.object({
  since: instant,
  memberships: z.array(z.object({ tool: z.string(), state: z.enum(membershipStates), count })),
  deliveries: z.array(z.object({ install: z.string(), state: z.enum(deliveryStates), count })),
  receipts: z.array(z.object({ tool: z.string(), outcome: z.string(), count })),
  removals: z.array(z.object({ install: z.string(), clearance: z.string(), count })),
  installs: z.array(Install),
  plans: z.array(Plan),
  budgets: z.array(z.object({ install: z.string(), state: z.enum(budgetStates).nullable(), count })),
  lowered: z.array(z.object({ install: z.string(), days: count })),
  troubles: z.array(Trouble).describe('What needs an operator, the worst first.'),
  instances: z.array(Instance),
  times: z
    .array(z.object({ what: z.enum(['access', 'lock_out']), day: Times, month: Times }))
    .describe('From hired to access, and from ended to locked out: of the last 24 hours and 30 days.'),
});

export type Status = z.output<typeof Status>;

export const operations = group('status', {
  show: read('GET /status', 'Show how Gangway is doing, what happened lately, and what needs you', {
    in: z.strictObject({
      since: z
        .string()
        .refine((text) => duration.test(text), 'must be a duration such as 30s, 5m, 24h or 7d')
        .meta({ pattern: duration.source })
        .default('24h')
        .describe('How far back to count.'),
      exitCode: flag('Have the command exit with 1 where something is down, and with 2 where something waits for you.'),
    }),
    out: Status,
    run: ({ since }, ctx) => loadStatus(ctx, instantIn(ctx.clock, -(toDurationMs(since) ?? 0)), fileOf(ctx.configFile)),
    show: (status) =>
      [...sayTroubles(status), ...sayNow(status), ...saySince(status), ...sayReadings(status)].join('\n\n'),
    status: ({ troubles: [worst] }, { exitCode }) => (exitCode && worst ? exitStatus[worst.severity] : 0),
  }),
});

const exitStatus = { down: 1, held: 2, waiting: 2, notice: 0 } as const;

export async function loadStatus(ctx: Context, since: string, file?: ConfigFile) {
  const { kysely } = ctx.database;
  const isConfigured = ({ install }: { install: string }) => ctx.installs.has(install);
  const troubles = await listTroubles(ctx, file);
  return {
    troubles,
    memberships: (await countByState(kysely)).sort(
      (a, b) => a.tool.localeCompare(b.tool) || a.state.localeCompare(b.state),
    ),
    installs: await listInstalls(ctx, [...ctx.installs].sort(), troubles),
    plans: await listPlans(ctx, { state: 'open' }),
    budgets: (await countBudgetsByState(ctx)).filter(isConfigured),
    instances: await loadInstances(ctx, ctx.clock.now()),
    since,
    deliveries: await countDeliveries(kysely, since),
    receipts: await countReceipts(kysely, since),
    removals: await countCleared(kysely, since),
    lowered: await countLowered(ctx, since),
    times: await measureTimes(ctx),
  };
}

async function measureTimes({ database, clock }: Context): Promise<Status['times']> {
  const met = await listMetAfter(database.kysely, instantIn(clock, -30 * dayMs));
  const yesterday = instantIn(clock, -dayMs);
  return (['access', 'lock_out'] as const).flatMap((what) => {
    const all = met.filter(({ isAccess }) => isAccess === (what === 'access'));
    if (all.length === 0) return [];
    return [{ what, day: toTimes(all.filter(({ at }) => at >= yesterday)), month: toTimes(all) }];
  });
}

function toTimes(met: readonly MetAfter[]): z.output<typeof Times> {
  const all = met.map(({ ms }) => ms);
  return { count: all.length, medianMs: percentileOf(all, 0.5), p95Ms: percentileOf(all, 0.95) };
}

function fileOf(path: string | undefined): ConfigFile | undefined {
  const file = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
  if (path === undefined || file === undefined) return undefined;
  // A copy may keep `mtime`, but nothing can set `ctime`. Instances on other machines have a file of their own.
  return { path, changedAt: file.ctime, isOf: ({ name }) => name.startsWith(`${hostname()}/`) };
}

function sayTroubles({ troubles }: Status): string[] {
  const [notices, needs] = [true, false].map((isNotice) =>
    troubles.filter(({ severity }) => (severity === 'notice') === isNotice).map(sayTrouble),
  ) as [string[], string[]];
  return [
    needs.length === 0 ? 'Nothing needs you.' : `Needs you:\n${needs.join('\n')}`,
    ...(notices.length === 0 ? [] : [`Worth knowing:\n${notices.join('\n')}`]),
  ];
}

/** The fields of the rows are its columns. */
function section(title: string, rows: readonly Record<string, Cell>[]): string[] {
  const [first] = rows;
  return first === undefined ? [] : [`${title}\n${formatTable(Object.keys(first), rows.map(Object.values))}`];
}

export function sayTimed(what: 'access' | 'lock_out'): string {
  return what === 'access' ? 'From hired to access' : 'From ended to locked out';
}

export function sayTimes({ medianMs, p95Ms }: z.output<typeof Times>): string {
  return medianMs === null || p95Ms === null
    ? ''
    : `${(medianMs / 1000).toFixed(1)} s · ${(p95Ms / 1000).toFixed(1)} s`;
}

function sayNow({ instances, memberships, budgets, times }: Status): string[] {
  const unstopped = instances.filter(({ state }) => state !== 'stopped');
  // If none runs, the instance that stopped last.
  const shown = unstopped.length > 0 ? unstopped : instances.slice(0, 1);
  return [
    ...section(
      'Instances',
      shown.map(({ name, version, state, startedAt, beatAt }) => {
        return { name, version, state, started: startedAt, 'heard of last': beatAt };
      }),
    ),
    ...section('Memberships now', memberships),
    ...section(
      'How long it took (median, p95)',
      times.map(({ what, day, month }) => {
        const [today, lately] = [sayTimes(day), sayTimes(month)];
        return { '': sayTimed(what), 'last 24 hours': today, 'last 30 days': lately, people: month.count };
      }),
    ),
    ...section('Budgets of contracts under way', budgets),
  ];
}

function saySince({ since, deliveries, receipts, removals, lowered }: Status): string[] {
  return [
    ...section(`Deliveries since ${since}`, deliveries),
    ...section(`Done in the tools since ${since}`, receipts),
    ...section(
      `Removals let pass since ${since}`,
      removals.map(({ install, clearance: reason, count }) => ({ install, reason, count })),
    ),
    ...section(`Usage reported lower than before since ${since} (gangway usage held)`, lowered),
  ];
}

function sayReadings({ installs }: Status): string[] {
  const read = installs.filter(({ readAt, failure }) => readAt !== null || failure !== null);
  return section(
    'Read from the marketplace',
    read.map(({ install, readAt, failure }) => ({ install, 'last read': readAt ?? 'never', trouble: failure })),
  );
}

/**
 * The percentile by the nearest rank.
 *
 * @param share above 0 and at most 1, such as 0.95
 * @returns null if there are no values
 */
export function percentileOf(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? null;
}

export function healthOf({ readAt, troubles }: Pick<z.output<typeof Install>, 'readAt' | 'troubles'>): string {
  if (troubles.length > 0) return 'trouble';
  return readAt === null ? 'not_read' : 'healthy';
}

export async function listInstalls(
  ctx: Watched,
  installs: Iterable<[string, Connected]>,
  troubles?: Awaited<ReturnType<typeof listTroubles>>,
) {
  const states = new Map((await listInstallStates(ctx)).map((state) => [state.install, state]));
  const all = (troubles ?? (await listTroubles(ctx))).filter(
    ({ severity, kind }) => severity !== 'notice' && kind !== 'approval_waiting',
  );
  return [...installs].map(([install, { livesIn, tool, projects }]) => {
    const { readBeganAt = null, failure = null } = states.get(install) ?? {};
    const isOfIt = (one: (typeof all)[number]) =>
      one.install === install || (one.install === null && one.tool === tool) || one.kind === 'nothing_runs';
    const of = { install, livesIn, tool, projects: [...projects] };
    return { ...of, readAt: readBeganAt, failure, troubles: all.filter(isOfIt).map(sayInFull) };
  });
}
