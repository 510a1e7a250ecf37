import { type RawBuilder, type SqlBool, sql } from 'kysely';

/**
 * The SQL that leaves out contracts which are over, by the columns of `contract`: most are, and need not be looked at.
 * All that are active or disputed are found, and some others of the same registers: `statusOfContract` decides.
 */
export function mayBeOpen(): RawBuilder<boolean> {
  return sql<boolean>`(contract.ended_read_at is null and (contract.ended_event_at is null
    or contract.active_read_at > contract.ended_event_at or contract.reopened_at is not null))`;
}

/** Leaves out contracts that something confirmed since the last reading of their `install_state` began. */
export const isUnconfirmed = sql.join<SqlBool>(
  ['started_event_at', 'active_read_at', 'reopened_at'].map(
    (column) => sql`coalesce(contract.${sql.ref(column)}, '') < install_state.read_began_at`,
  ),
  sql` and `,
);
