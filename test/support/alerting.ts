import type { Database } from '../../src/db/database.ts';
import type { AlertNotice } from '../../src/domain/notice.ts';
import type { AlertKind, Alerts } from '../../src/lib/alerts.ts';
import type { Logger } from '../../src/lib/logger.ts';
import { createAlertNotices } from '../../src/notify/alert-notices.ts';
import type { Asked } from '../../src/notify/alert-rules.ts';
import { countStandingAlerts } from '../../src/notify/alert-store.ts';
import { type AlertWorkerDeps, askAlerts } from '../../src/notify/alert-worker.ts';
import type { ChannelShape } from '../../src/notify/channel.ts';
import { listDispatches } from '../../src/notify/dispatch-store.ts';
import { createNoticeStore } from '../../src/notify/notice-store.ts';
import type { FakeClock } from './fake-clock.ts';
import { storageOf } from './storage-of.ts';

interface HeardOf {
  database: Database;
  clock: FakeClock;
  logger: Logger;
}

/** The announcing of alerts as the bridge wires it, to one channel, and asked when the test says so. */
export interface Alerting {
  /** What a harness has its alerts heard by. */
  hears(parts: HeardOf): Alerts;
  /** Asks of every alert whether it still stands, a minute from now as an instance does that has just started. */
  ask(): Promise<void>;
  /** How many alerts of a kind stand. */
  standing(kind: AlertKind): Promise<number>;
  /** What was announced about a kind, oldest first: `raised`, `still`, `over`, or `raised and over`. */
  announced(kind: AlertKind): Promise<string[]>;
}

type AlertingOptions = Partial<Pick<Asked, 'walls' | 'deferralOf'>> & {
  channel?: Pick<ChannelShape, 'name' | 'gatherMs'>;
  repeatMs?: number;
};

const weekMs = 7 * 86_400_000;
const minuteMs = 60_000;
const never = new AbortController().signal;
/** Every install and tool that the harnesses have, without walls between them. */
const inStudio = { tool: 'studio', projects: ['*'] };

const openWalls: Asked['walls'] = {
  installs: new Map(['acme', 'globex', 'hostile', 'honest'].map((name) => [name, inStudio])),
  adapters: new Map([['studio', {} as never]]),
};

export function createAlerting({
  walls = openWalls,
  deferralOf = async () => undefined,
  channel = { name: 'ops', gatherMs: 0 },
  repeatMs = weekMs,
}: AlertingOptions = {}): Alerting {
  let heard: { deps: AlertWorkerDeps; parts: HeardOf; settled: () => Promise<void> } | undefined;

  function open() {
    if (heard === undefined) throw new Error('no harness has its alerts heard');
    return heard;
  }

  return {
    hears(parts) {
      const { database, clock, logger } = parts;
      const storage = storageOf(database);
      const notices = createNoticeStore([channel], clock);
      const asked = { ...storage, walls, deferralOf };
      const deps = { ...storage, notices, repeatMs, logger, clock, asked };
      const { settled, ...listener } = createAlertNotices(deps);
      heard = { deps, parts, settled };
      return listener;
    },
    async ask() {
      const { deps, parts, settled } = open();
      await settled();
      parts.clock.advance(minuteMs);
      await askAlerts(deps, never, () => undefined);
    },
    async standing(kind) {
      const { deps, settled } = open();
      await settled();
      return (await countStandingAlerts(deps)).find((one) => one.kind === kind)?.count ?? 0;
    },
    async announced(kind) {
      const { parts, settled } = open();
      await settled();
      const listed = await listDispatches(storageOf(parts.database), { limit: 1000 });
      return listed.toReversed().flatMap((one) => (one.kind === `alert.${kind}` && 'about' in one ? [sayOf(one)] : []));
    },
  };
}

function sayOf({ isOver, isRepeat, endsAtOnce }: AlertNotice): string {
  if (isOver) return 'over';
  if (isRepeat) return 'still';
  return endsAtOnce ? 'raised and over' : 'raised';
}
