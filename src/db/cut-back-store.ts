import { type RawBuilder, sql } from 'kysely';
import { toInstant } from '../lib/clock.ts';
import type { WhenAhead } from './columns.ts';
import type { Transaction } from './database.ts';
import { tables } from './schema.ts';
import type { SettingName } from './setting-store.ts';

/** No lease is longer. The holder of a lease from the future is dead, or notices that it has lost the lease. */
const longestLeaseMs = 10 * 60_000;

/** The settings that are instants or days. */
const settings: readonly SettingName[] = [
  'last_alive_at',
  'latest_instant',
  'usage_tick',
  'usage_tick_at',
  'usage_reported_tick',
  'usage_recounted_at',
];

/**
 * Cuts stored times back to the present after the clock was ahead. Registers are merged by maximum, so a register in the
 * future would ignore every reading until then. The caller holds the lock on evidence.
 *
 * @param graceMs the longest grace period
 */
export async function cutBack(tx: Transaction, now: Date, graceMs: number): Promise<void> {
  const present = toInstant(now);
  const after = (ms: number) => toInstant(new Date(now.getTime() + ms));
  await withdrawReadings(tx, present);
  await cutAll(tx, 'now', present);
  await cutAll(tx, 'lease', after(longestLeaseMs));
  await cutAll(tx, 'grace', after(graceMs));
  await cutAll(tx, 'version', `1:${present}`);
  for (const [table, columns] of columnsOf('absences')) {
    for (const column of columns) await dropLast(tx, table, column, present);
  }
  await sql`update setting set value = ${present} where value > ${present}
    and name in (${sql.join([...settings])})`.execute(tx);
  await sql`update subscription set enabled_at = '[]'
    where substr(enabled_at, length(enabled_at) - 25, 24) > ${present}`.execute(tx);
}

/**
 * Nobody knows when readings with a time in the future really began, so they may contradict nothing: they dispute no end
 * of a contract and revive no revoked grant.
 */
async function withdrawReadings(tx: Transaction, present: string): Promise<void> {
  await sql`update contract set active_read_at = ended_event_at
    where active_read_at > ${present} and ended_event_at <= ${present}`.execute(tx);
  const revoked = await tx
    .selectFrom('installGrant')
    .select(['install', 'grantId', 'revokedEventAt'])
    .where('activeReadAt', '>', present)
    .where('revokedEventAt', 'is not', null)
    .execute();
  for (const { install, grantId, revokedEventAt } of revoked) {
    if (revokedEventAt === null) continue;
    const before = toInstant(new Date(Math.min(Date.parse(revokedEventAt), Date.parse(present)) - 1));
    await tx
      .updateTable('installGrant')
      .set({ activeReadAt: before })
      .where((eb) => eb.and({ install, grantId }))
      .execute();
  }
}

/** The columns of each table whose instants are cut back in this way. */
export function columnsOf(ahead: WhenAhead): [table: string, columns: string[]][] {
  return Object.entries(tables)
    .map(([table, { columns }]): [string, string[]] => [
      table,
      Object.keys(columns).filter((column) => columns[column]?.facts.ahead === ahead),
    ])
    .filter(([, columns]) => columns.length > 0);
}

async function cutAll(tx: Transaction, ahead: WhenAhead, limit: string): Promise<void> {
  for (const [table, columns] of columnsOf(ahead)) {
    const isBeyond = (column: string) => sql<boolean>`${sql.ref(column)} > ${limit}`;
    const set = columns.map(
      (column) => sql`${sql.ref(column)} = case when ${isBeyond(column)} then ${limit} else ${sql.ref(column)} end`,
    );
    await sql`update ${sql.table(table)} set ${sql.join(set)}
      where ${anyOf(columns.map(isBeyond))}`.execute(tx);
  }
}

function anyOf(conditions: RawBuilder<boolean>[]): RawBuilder<unknown> {
  return sql.join(conditions, sql` or `);
}

const instantLength = 24;
/** How many instants a register keeps. */
const mostAbsences = 3;

/** The next reading that misses the same thing records the absence again. */
async function dropLast(tx: Transaction, table: string, column: string, present: string): Promise<void> {
  const absences = sql.ref(column);
  for (let n = 0; n < mostAbsences; n += 1) {
    await sql`update ${sql.table(table)} set ${absences} =
        nullif(rtrim(substr(${absences}, 1, length(${absences}) - ${sql.lit(instantLength)})), '')
      where substr(${absences}, length(${absences}) - ${sql.lit(instantLength - 1)}) > ${present}
    `.execute(tx);
  }
}
