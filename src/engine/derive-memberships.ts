import type { Transaction } from '../db/database.ts';
import type { MembershipRow } from '../db/tables.ts';
import type { MembershipCore } from '../domain/membership.ts';
import type { RouteLink } from './link-router.ts';
import type { MembershipStore } from './membership-store.ts';
import { type MembershipChange, planMemberships } from './plan-memberships.ts';

export interface DeriveDeps {
  memberships: MembershipStore;
  routeLink: RouteLink;
}

/**
 * Brings the memberships of these trainers in line with the evidence. Level-triggered: it reads all
 * that is known of them, and writes only what differs.
 *
 * @returns whether there is now something to be done in a tool
 */
export async function deriveMemberships(
  { memberships, routeLink }: DeriveDeps,
  tx: Transaction,
  trainerIds: string[],
  now: string,
): Promise<boolean> {
  if (trainerIds.length === 0) return false;
  const known = {
    participations: await memberships.participationsOf(tx, trainerIds),
    memberships: await memberships.membershipsOf(tx, trainerIds),
    addresses: await memberships.knownAddresses(tx, trainerIds),
  };
  const changes = planMemberships(known, routeLink);
  await insertNew(memberships, tx, changes, now);
  for (const { before, after } of changes) {
    if (before !== undefined) await memberships.update(tx, before.id, toColumns(after, now));
  }
  return changes.some(({ after }) => isDue(after));
}

async function insertNew(
  memberships: MembershipStore,
  tx: Transaction,
  changes: MembershipChange[],
  now: string,
): Promise<void> {
  const rows = changes.flatMap(({ place, before, after }) =>
    before === undefined ? [{ ...place, isOurs: 0, ...toColumns(after, now) }] : [],
  );
  if (rows.length > 0) await memberships.insert(tx, rows);
}

function toColumns(core: MembershipCore, now: string) {
  return {
    wanted: core.wanted ? 1 : 0,
    generation: core.generation,
    state: core.state,
    attempts: 0,
    nextAttemptAt: isDue(core) ? now : null,
    failure: null,
    updatedAt: now,
  } satisfies Partial<MembershipRow>;
}

function isDue({ state }: MembershipCore): boolean {
  return state === 'pending' || state === 'removing';
}
