import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../db/database.ts';

/**
 * The SQL of what waits, asked for on every scrape. Each query finds the oldest by an index, or reads a table with one
 * row per install.
 */

export const waitingKinds = [
  'delivery',
  'read_request',
  'install_read',
  'work_email',
  'membership',
  'removal',
  'removal_held',
  'invitation',
  'lowering_held',
  'notification',
] as const;

export type WaitingKind = (typeof waitingKinds)[number];

/** The oldest thing of a kind, and since when it waits. */
export interface Waiting {
  kind: WaitingKind;
  /** The install that it is of, if it waits for what is done by install. */
  install: string | null;
  since: string;
}

/** The oldest per kind, or several of which one is the oldest. */
export async function listOldestWaiting({ kysely }: Pick<Database, 'kysely'>): Promise<Waiting[]> {
  const { rows } = await sql<Waiting>`${sql.join(Object.values(oldestWaiting), sql` union all `)}`.execute(kysely);
  return rows.filter(({ since }) => since !== null);
}

/** By install: when its last complete reading began. */
export async function listReadBegan({
  kysely,
}: Pick<Database, 'kysely'>): Promise<{ install: string; beganAt: string | null }[]> {
  return await kysely.selectFrom('installState').select(['install', 'readBeganAt as beganAt']).execute();
}

/** Exported so that a test can ask the database how it runs each. */
export const oldestWaiting: Record<WaitingKind, RawBuilder<unknown>> = {
  // Ids grow with time. Both queries by install skip from install to install in the index.
  delivery: sql`select * from (
    with recursive turn (install) as (
      select min(install) from delivery where next_attempt_at is not null
      union all
      select (select min(install) from delivery where next_attempt_at is not null and install > turn.install)
        from turn where turn.install is not null
    )
    select 'delivery' as kind, cast(null as text) as install, (
      select received_at from delivery where next_attempt_at is not null and delivery.install = turn.install
        order by id limit 1
    ) as since from turn where turn.install is not null
  ) as deliveries`,
  read_request: sql`select * from (
    with recursive turn (install) as (
      select min(install) from read_request
      union all
      select (select min(install) from read_request where install > turn.install)
        from turn where turn.install is not null
    )
    select 'read_request' as kind, turn.install as install, (
      select min(wanted_at) from read_request where read_request.install = turn.install
    ) as since from turn where turn.install is not null
  ) as requests`,
  install_read: sql`select 'install_read' as kind, install, read_wanted_at as since from install_state`,
  work_email: oldestUnmet('work_email', 1, ['waiting_email']),
  membership: oldestUnmet('membership', 1, ['pending', 'failed']),
  removal: oldestUnmet('removal', 0, ['removing', 'failed']),
  removal_held: oldest('removal_held', sql`select min(created_at) from plan where state = 'open'`),
  invitation: oldest(
    'invitation',
    sql`select created_at from invitation where delivered_at is null and content is not null and exists (
      select 1 from membership
        where membership.id = membership_id and wanted = 1 and state in ('invited', 'active')
    ) order by created_at limit 1`,
  ),
  lowering_held: oldest(
    'lowering_held',
    sql`select min(lowering_held_at) from usage_ledger where lowering_held_at is not null`,
  ),
  notification: oldest('notification', sql`select min(created_at) from dispatch where settled_at is null`),
};

function oldest(kind: WaitingKind, since: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select ${sql.lit(kind)} as kind, cast(null as text) as install, (${since}) as since`;
}

function oldestUnmet(kind: WaitingKind, wanted: 0 | 1, states: readonly string[]): RawBuilder<unknown> {
  const each = states.map((state) =>
    oldest(
      kind,
      sql`select min(unmet_since) from membership
        where wanted = ${sql.lit(wanted)} and state = ${sql.lit(state)} and unmet_since is not null`,
    ),
  );
  return sql.join(each, sql` union all `);
}
