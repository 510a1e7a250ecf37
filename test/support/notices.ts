import { randomUUID } from 'node:crypto';
import { Config } from '../../src/config/config-schema.ts';
import { notifications } from '../../src/config/messages-schema.ts';
import type { Context, Storage } from '../../src/context.ts';
import { type Database, inTransaction } from '../../src/db/database.ts';
import type { BudgetNotice } from '../../src/domain/notice.ts';
import { createAlerts } from '../../src/lib/alerts.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import type { Channel } from '../../src/notify/channels.ts';
import { addBudgetNotice } from '../../src/notify/notice-store.ts';
import { createNotifying } from '../../src/notify/notify-worker.ts';
import type { Alerting } from './alerting.ts';
import { createTestContext } from './engine-harness.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { createLogLines, type LogLines } from './log-lines.ts';

export const secret = `whsec_${Buffer.alloc(32, 'a key of ours').toString('base64')}`;
export const never = new AbortController().signal;

export function newNotice(changes: Partial<BudgetNotice> = {}): BudgetNotice {
  return {
    kind: 'budget.low',
    install: 'acme',
    contractId: 'c1',
    isRepeat: false,
    occurredAt: '2026-03-15T11:59:00.000Z',
    ...changes,
    budget: {
      fundedVolume: 100,
      fundedAmountUsd: 2500,
      consumedVolume: 85,
      remainingVolume: 15,
      consumedFraction: 0.85,
      ...changes.budget,
    },
  };
}

/** The notices of one database, with a clock that the test moves. */
export interface Telling extends Context {
  clock: FakeClock;
  log: LogLines;
  add(channels: readonly Channel[], ...notices: BudgetNotice[]): Promise<void>;
  /** Sends in a channel until nothing is due, as a process does that has just started. */
  sendAll(channel: Channel, through?: Storage): Promise<void>;
  rows(): Promise<DispatchRow[]>;
  /** `outcome count`, in the order of the words. */
  outcomes(): Promise<string[]>;
}

type DispatchRow = Awaited<ReturnType<typeof readRows>>[number];

export function createTelling(database: Database, hears?: Alerting['hears']): Telling {
  const clock = createFakeClock();
  const log = createLogLines();
  const metrics = createMetrics();
  const { logger } = log;
  const alerts = createAlerts(logger, metrics, hears?.({ database, clock, logger }));
  const telling: Telling = {
    ...createTestContext(database, { clock, logger, metrics, alerts }),
    clock,
    log,
    add: (channels, ...notices) =>
      addNotices({ database, clock }, Object.fromEntries(channels.map(toSettings)), notices),
    async sendAll(channel, through = telling) {
      const notify = createNotifying({ ...telling, ...through }, channel);
      while ((await notify(never)) === 'more');
    },
    rows: () => readRows(database),
    async outcomes() {
      const { values } = await metrics.notifications.get();
      return values.map(({ labels, value }) => `${labels['outcome']} ${value}`).sort();
    },
  };
  return telling;
}

/** Adds a notice as the code that raises it does. */
export async function addNotices(
  { database, clock }: { database: Database; clock: Clock },
  channels: Record<string, object>,
  notices: readonly BudgetNotice[],
): Promise<void> {
  const ctx = createTestContext(database, { clock, config: notifying(channels) });
  await inTransaction(database, async (tx) => {
    for (const notice of notices) await addBudgetNotice(ctx, tx, notice);
  });
}

/** The settings of a channel that sends at once, and of one that gathers. */
export const atOnce = { type: 'webhook', url: 'https://ops.example.com/', secret };
const gathering = { type: 'slack', url: 'https://chat.example.com/' };

function toSettings({ name, maxNotices }: Channel): [string, object] {
  return [name, maxNotices === 1 ? atOnce : gathering];
}

/** The usual configuration with these channels, by name. */
export function notifying(channels: Record<string, object>, repeat = '7d'): Config {
  return { ...Config.parse({}), notifications: notifications.parse({ repeat, channels }) };
}

async function readRows({ kysely }: Database) {
  return await kysely.selectFrom('dispatch').selectAll().orderBy('id').execute();
}

/** What a claim is asked with. */
export function newOrder(channel: string, clock: FakeClock, leaseMs = 30_000) {
  const now = clock.now().getTime();
  return {
    channel,
    maxNotices: 1,
    token: randomUUID(),
    newMessageId: `msg_${randomUUID()}`,
    now: new Date(now).toISOString(),
    leasedUntil: new Date(now + leaseMs).toISOString(),
  };
}
