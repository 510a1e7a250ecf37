import { countUndelivered } from '../converge/handover-store.ts';
import type { Storage } from '../keys/storage.ts';
import { countHeld } from '../memberships/membership-list-store.ts';

/** What waits for a person: the console shows it beside its sections. */
export async function countWaiting({ database: { kysely } }: Storage) {
  return { held: await countHeld(kysely), invitations: await countUndelivered(kysely) };
}
