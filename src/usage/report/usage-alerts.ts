import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { readSetting, writeSetting } from '../../db/setting-store.ts';
import type { AlertKind } from '../../lib/alerts.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { listUsageTroubles, type UsageTrouble, type UsageTroubleKind } from '../due/trouble-store.ts';

const dayMs = 86_400_000;

const says: Record<UsageTroubleKind, { alert: AlertKind; message: string }> = {
  held: {
    alert: 'usage_held',
    message: 'Work is not reported because its contract is not known: see "gangway usage held"',
  },
  lowering: {
    alert: 'usage_held',
    message:
      'A run would lower more of what was reported than it may: look at "gangway usage report --dry-run", then send it with --accept-lowered',
  },
  refused: {
    alert: 'usage_refused',
    message: 'The marketplace refuses days of usage: see "gangway usage show <contract>"',
  },
  late: {
    alert: 'usage_held',
    message: 'Work changed after its day was reported for the last time: see "gangway usage held"',
  },
};

/** Raises an alert about work that came up since the last one, and about everything again after a day. */
export async function raiseUsageAlerts(ctx: Context, install: string): Promise<void> {
  const troubles = (await listUsageTroubles(ctx)).filter((one) => one.install === install || one.install === '');
  for (const trouble of troubles) {
    const name = `usage_alerted ${trouble.kind} ${trouble.install}` as const;
    const before = await readSetting(ctx.database.kysely, name);
    if (before !== undefined && !isNew(trouble, before) && before > instantIn(ctx.clock, -dayMs)) continue;
    const { alert, message } = says[trouble.kind];
    const { kind: reason, days, seconds, oldest } = trouble;
    ctx.alerts.raise(alert, { install, reason, days, hours: toHours(seconds), oldest }, message);
    // Stored afterwards: after a crash in between, a repeated alert is better than a lost one.
    await inTransaction(ctx.database, (tx) => writeSetting(tx, name, toInstant(ctx.clock.now())));
  }
}

function isNew({ latest }: UsageTrouble, before: string): boolean {
  return latest !== null && latest > before;
}

export function toHours(seconds: number): number {
  return Math.round(seconds / 360) / 10;
}
