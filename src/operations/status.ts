import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import { budgetStates } from '../domain/budget.ts';
import { deliveryStates } from '../domain/delivery.ts';
import { membershipStates } from '../domain/membership.ts';
import { instantIn } from '../lib/clock.ts';
import { toDurationMs } from '../lib/units.ts';
import type { ConfigFile } from '../operator/load-running.ts';
import { loadStatus } from '../operator/load-status.ts';
import { Install } from './install-show.ts';
import { group, read } from './operation.ts';
import { Plan } from './plan-schema.ts';
import { formatTable } from './text-table.ts';
import { sayTrouble, Trouble } from './trouble.ts';
import { count, instant, maybeInstant } from './values.ts';

/** How Gangway is doing. */

const duration = /^[0-9]{1,4}(ms|s|m|h|d)$/;

const Instance = z
  .object({
    name: z.string(),
    version: z.string(),
    startedAt: instant,
    beatAt: instant,
    stoppedAt: maybeInstant,
    state: z.enum(['running', 'silent', 'stopped']),
    silentForSeconds: z.number(),
  })
  .meta({ id: 'Instance' });

const Times = z.object({
  count,
  medianMs: z.number().nullable(),
  p95Ms: z.number().nullable(),
});

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
type Said = z.output<typeof Status>;

export const status = group('status', {
  show: read('GET /status', 'Show how Gangway is doing, what happened lately, and what needs you', {
    in: z.strictObject({
      since: z
        .string()
        .refine((text) => duration.test(text), 'must be a duration such as 30s, 5m, 24h or 7d')
        .meta({ pattern: duration.source })
        .default('24h')
        .describe('How far back to count.'),
      exitCode: z
        .boolean()
        .default(false)
        .describe('Have the command exit with 1 where something is down, and with 2 where something waits for you.'),
    }),
    out: Status,
    run: ({ since }, ctx) => loadStatus(ctx, instantIn(ctx.clock, -(toDurationMs(since) ?? 0)), fileOf(ctx.configFile)),
    show: (status) =>
      [
        ...sayTroubles(status),
        ...sayNow(status),
        ...saySince(status),
        ...section(
          'Read from the marketplace',
          ['install', 'last read', 'trouble'],
          status.installs
            .filter(({ readAt, failure }) => readAt !== null || failure !== null)
            .map(({ install, readAt, failure }) => [install, readAt ?? 'never', failure ?? '']),
        ),
      ].join('\n\n'),
    status: ({ troubles: [worst] }, { exitCode }) => (exitCode && worst ? exitStatus[worst.severity] : 0),
  }),
});

const exitStatus = { down: 1, held: 2, waiting: 2, notice: 0 } as const;

/** Only instances on this machine read this file: others have one of their own. */
function fileOf(path: string | undefined): ConfigFile | undefined {
  const file = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
  if (path === undefined || file === undefined) return undefined;
  // Unlike the time of its content, which a copy may keep, this one cannot be set.
  return { path, changedAt: file.ctime, isOf: ({ name }) => name.startsWith(`${hostname()}/`) };
}

function sayTroubles({ troubles }: Said): string[] {
  const [notices, needs] = [true, false].map((isNotice) =>
    troubles.filter(({ severity }) => (severity === 'notice') === isNotice).map(sayTrouble),
  ) as [string[], string[]];
  return [
    needs.length === 0 ? 'Nothing needs you.' : `Needs you:\n${needs.join('\n')}`,
    ...(notices.length === 0 ? [] : [`Worth knowing:\n${notices.join('\n')}`]),
  ];
}

function section(title: string, columns: string[], rows: (string | number | null)[][]): string[] {
  return rows.length === 0 ? [] : [`${title}\n${formatTable(columns, rows)}`];
}

export function sayTimed(what: 'access' | 'lock_out'): string {
  return what === 'access' ? 'From hired to access' : 'From ended to locked out';
}

export function sayTimes({ medianMs, p95Ms }: z.output<typeof Times>): string {
  return medianMs === null || p95Ms === null
    ? ''
    : `${(medianMs / 1000).toFixed(1)} s · ${(p95Ms / 1000).toFixed(1)} s`;
}

function sayNow({ instances, memberships, budgets, times }: Said): string[] {
  const unstopped = instances.filter(({ state }) => state !== 'stopped');
  // If none runs, the one that stopped last.
  const shown = unstopped.length > 0 ? unstopped : instances.slice(0, 1);
  return [
    ...section(
      'Instances',
      ['name', 'version', 'state', 'started', 'heard of last'],
      shown.map((one) => [one.name, one.version, one.state, one.startedAt, one.beatAt]),
    ),
    ...section(
      'Memberships now',
      ['tool', 'state', 'count'],
      memberships.map(({ tool, state, count }) => [tool, state, count]),
    ),
    ...section(
      'How long it took (median, p95)',
      ['', 'last 24 hours', 'last 30 days', 'people'],
      times.map(({ what, day, month }) => [sayTimed(what), sayTimes(day), sayTimes(month), month.count]),
    ),
    ...section(
      'Budgets of contracts under way',
      ['install', 'state', 'count'],
      budgets.map(({ install, state, count }) => [install, state, count]),
    ),
  ];
}

function saySince({ since, deliveries, receipts, removals, lowered }: Said): string[] {
  return [
    ...section(
      `Deliveries since ${since}`,
      ['install', 'state', 'count'],
      deliveries.map(({ install, state, count }) => [install, state, count]),
    ),
    ...section(
      `Done in the tools since ${since}`,
      ['tool', 'outcome', 'count'],
      receipts.map(({ tool, outcome, count }) => [tool, outcome, count]),
    ),
    ...section(
      `Removals let pass since ${since}`,
      ['install', 'reason', 'count'],
      removals.map(({ install, clearance, count }) => [install, clearance, count]),
    ),
    ...section(
      `Usage reported lower than before since ${since} (gangway usage held)`,
      ['install', 'days'],
      lowered.map(({ install, days }) => [install, days]),
    ),
  ];
}
