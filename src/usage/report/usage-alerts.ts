import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { readSetting, writeSetting } from '../../db/setting-store.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { sayCount } from '../../lib/say-count.ts';
import { type TroubleFacts, toTrouble } from '../../lib/troubles.ts';
import { listUsageTroubles, type UsageTrouble } from '../due/trouble-store.ts';

const dayMs = 86_400_000;

/** For held work of no single install its name is empty. */
export function toWorkTrouble({ kind, install, days, seconds, oldest }: UsageTrouble): TroubleFacts {
  const hours = toHours(seconds);
  const detail = `${hours === 0 ? '' : `${sayCount(hours, 'hour')}, `}the oldest of ${oldest}`;
  const names = { day: oldest, of: install === '' ? ' of no single install' : ` of ${install}` };
  return { kind: `usage_${kind}`, install: install || null, count: days, detail, names };
}

/** Raises an alert about work that came up since the last one, and about everything again after a day. */
export async function raiseUsageAlerts(ctx: Context, install: string): Promise<void> {
  const troubles = (await listUsageTroubles(ctx)).filter((one) => one.install === install || one.install === '');
  for (const trouble of troubles) {
    const name = `usage_alerted ${trouble.kind} ${trouble.install}` as const;
    const before = await readSetting(ctx.database.kysely, name);
    if (before !== undefined && !isNew(trouble, before) && before > instantIn(ctx.clock, -dayMs)) continue;
    const { kind: reason, days, seconds, oldest } = trouble;
    const { says } = toTrouble(toWorkTrouble(trouble));
    const alert = reason === 'refused' ? 'usage_refused' : 'usage_held';
    ctx.alerts.raise(alert, { install, reason, days, hours: toHours(seconds), oldest }, says);
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
