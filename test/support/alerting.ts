import type { Context } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';
import type { AlertNotice } from '../../src/domain/notice.ts';
import type { Alerts } from '../../src/lib/alerts.ts';
import type { Logger } from '../../src/lib/logger.ts';
import type { AlertKind } from '../../src/lib/troubles.ts';
import { createAlertNotices } from '../../src/notify/alert-notices.ts';
import type { DeferralOf } from '../../src/notify/alert-rules.ts';
import { countOpenAlerts } from '../../src/notify/alert-store.ts';
import { listDispatches } from '../../src/notify/notice-store.ts';
import { announceTroubles } from '../../src/operations/alert-worker.ts';
import { createTestContext, inStudio } from './engine-harness.ts';
import type { FakeClock } from './fake-clock.ts';
import { createMemoryTool } from './memory-tool.ts';
import { atOnce, notifying } from './notices.ts';
import { beatIn } from './troubles.ts';

interface HeardOf {
  database: Database;
  clock: FakeClock;
  logger: Logger;
}

/** The announcing of alerts as the bridge wires it, to one channel, and asked when the test says so. */
export interface Alerting {
  /** What a harness has its alerts heard by. */
  hears(parts: HeardOf): Alerts;
  /** Compares the open alerts with the list of troubles a minute from now, as an instance does that has just started. */
  ask(): Promise<void>;
  /** How many alerts of a kind are open. */
  standing(kind: AlertKind): Promise<number>;
  /** What was announced about a kind, oldest first: `raised`, `still`, `over`, or `raised and over`. */
  announced(kind: AlertKind): Promise<string[]>;
}

interface AlertingOptions {
  installs?: Context['installs'];
  adapters?: Context['adapters'];
  deferralOf?: DeferralOf;
  channel?: string;
  /** As in the configuration. */
  repeat?: string;
}

const minuteMs = 60_000;
const never = new AbortController().signal;
/** Every install and tool that the harnesses have, without walls between them. */
const usualInstalls = new Map(['acme', 'globex', 'hostile', 'honest'].map((name) => [name, inStudio()]));
const usualAdapters = new Map([['studio', createMemoryTool().adapter]]);

export function createAlerting({
  installs = usualInstalls,
  adapters = usualAdapters,
  deferralOf = async () => undefined,
  channel = 'ops',
  repeat = '7d',
}: AlertingOptions = {}): Alerting {
  let heard: { ctx: Context; parts: HeardOf; settled: () => Promise<void> } | undefined;

  function open() {
    if (heard === undefined) throw new Error('no harness has its alerts heard');
    return heard;
  }

  return {
    hears(parts) {
      const { database, clock, logger } = parts;
      const config = notifying({ [channel]: atOnce }, repeat);
      const ctx = createTestContext(database, { config, clock, logger, installs, adapters });
      const { settled, ...listener } = createAlertNotices(() => ctx);
      heard = { ctx, parts, settled };
      return listener;
    },
    async ask() {
      const { ctx, parts, settled } = open();
      await settled();
      parts.clock.advance(minuteMs);
      await tellNow(ctx, deferralOf);
    },
    async standing(kind) {
      const { ctx, settled } = open();
      await settled();
      return (await countOpenAlerts(ctx)).find((one) => one.kind === kind)?.count ?? 0;
    },
    async announced(kind) {
      const { ctx, settled } = open();
      await settled();
      const listed = await listDispatches(ctx, { limit: 1000 });
      return listed.toReversed().flatMap((one) => (one.kind === `alert.${kind}` && 'about' in one ? [sayOf(one)] : []));
    },
  };
}

/** Compares the open alerts with the list of troubles, as an instance does. */
export async function tellNow(ctx: Context, deferralOf: DeferralOf = async () => undefined): Promise<void> {
  await beatIn(ctx);
  const installs = ctx.installs.size === 0 ? usualInstalls : ctx.installs;
  await announceTroubles({ ...ctx, installs }, deferralOf, never, () => undefined);
}

function sayOf({ isOver, isRepeat, endsAtOnce }: AlertNotice): string {
  if (isOver) return 'over';
  if (isRepeat) return 'still';
  return endsAtOnce ? 'raised and over' : 'raised';
}
