import { type Database, inTransaction } from '../db/database.ts';
import type { MembershipStore } from './membership-store.ts';
import type { RoutedInstalls } from './wall.ts';

interface RerouteDeps {
  database: Database;
  memberships: MembershipStore;
  /** The current configuration. */
  installs: RoutedInstalls;
}

/**
 * Marks the trainers that a new configuration of these installs may concern as waiting to be derived. This includes the
 * trainers of other installs on the same tool, because their walls may have moved.
 *
 * @returns whether there is anything to derive
 */
export async function rerouteInstalls(
  { database, memberships, installs }: RerouteDeps,
  changed: readonly string[],
): Promise<boolean> {
  if (changed.length === 0) return false;
  const tools = new Set(changed.map((name) => installs.get(name)?.tool));
  const neighbours = [...installs].filter(([, { tool }]) => tools.has(tool)).map(([name]) => name);
  const all = [...new Set([...changed, ...neighbours])];
  await inTransaction(database, (tx) => memberships.postponeInstalls(tx, all));
  return true;
}
