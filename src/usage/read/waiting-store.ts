import { type Database, inTransaction } from '../../db/database.ts';
import { heldStates } from '../../domain/membership.ts';
import type { AddressStore } from '../../memberships/address-store.ts';
import { noteArrival } from '../../memberships/look-store.ts';

/**
 * The SQL of those of whom a tool does not tell by which account they are in: they were invited by a
 * link that serves everybody, or a call that may have let them in was never answered. They may be in,
 * and at work, from any moment on.
 */
export interface WaitingStore {
  waitingIn(tool: string, groupIds: readonly string[]): Promise<Waiting[]>;
  /**
   * From now on their work is theirs. Who is wanted is due, so that the rest of their arrival is
   * seen to; not where it is known otherwise by now, or whose account is another trainer's.
   */
  settleArrived(arrived: readonly Arrived[], now: string): Promise<void>;
}

export interface Waiting {
  membershipId: number;
  tool: string;
  groupId: string;
  trainerId: string;
  memberId: string | null;
  /** Under which they would be in, in lower case. */
  addresses: readonly string[];
}

export interface Arrived {
  waiting: Waiting;
  /** The tool's id of their account. */
  accountId: string;
}

export function createWaitingStore(database: Database, addresses: AddressStore): WaitingStore {
  const { kysely } = database;
  return {
    async waitingIn(tool, groupIds) {
      if (groupIds.length === 0) return [];
      const rows = await kysely
        .selectFrom('membership')
        .select(['id', 'tool', 'groupId', 'trainerId', 'memberId', 'wanted'])
        .where('tool', '=', tool)
        .where('groupId', 'in', groupIds)
        .where('state', 'in', heldStates)
        .where((eb) => eb.or([eb('memberId', 'is', null), eb('memberId', 'like', 'invited:%')]))
        .orderBy('id')
        .execute();
      const known = await addresses.ofMemberships(
        kysely,
        rows.map(({ id }) => id),
      );
      return rows.flatMap(({ id, wanted, ...row }) => {
        const all = known.get(id) ?? [];
        if (all.every(({ givenAt }) => givenAt === null)) return [];
        // Who is wanted may have come under the address that they have by now.
        const theirs = all.filter((one) => one.givenAt !== null || (wanted && one.isCurrent));
        return [{ ...row, membershipId: id, addresses: theirs.map(({ address }) => address) }];
      });
    },

    async settleArrived(arrived, now) {
      if (arrived.length === 0) return;
      await inTransaction(database, async (tx) => {
        for (const { waiting, accountId } of arrived) {
          await noteArrival(tx, { ...waiting, accountId }, now);
        }
      });
    },
  };
}
