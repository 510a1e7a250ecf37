import { type RawBuilder, sql } from 'kysely';

/**
 * The SQL that leaves out contracts which are over, by the columns of `contract`: most are, and need not be looked at.
 * All that are active or disputed are found, and some others of the same registers: `statusOfContract` decides.
 */
export function mayBeOpen(): RawBuilder<boolean> {
  return sql<boolean>`(contract.ended_read_at is null and (contract.ended_event_at is null
    or contract.active_read_at > contract.ended_event_at or contract.reopened_at is not null))`;
}
