import type { Database, Transaction } from '../../db/database.ts';
import { lockRows } from '../../db/lease.ts';
import type { LinkEvidence } from '../../domain/evidence.ts';
import { heldStates, type ReceiptOutcome } from '../../domain/membership.ts';
import {
  confirm,
  findUnconfirmed,
  lookAgain,
  lookToConfirm,
  type RepeatedRemoval,
  removeAgain,
} from '../../memberships/look-store.ts';
import type { Arrival, KnownMembership } from './judge-drift.ts';

/** The only SQL of drift: which groups an install has people in, who they are, and what follows. */
export interface DriftStore {
  /** Groups in which somebody of the install is, or was removed after `since`, as `tool`, `groupId`. */
  groupsOf(install: string, since: string): Promise<Group[]>;
  /** All links that an install ever had. */
  linksOf(install: string): Promise<DriftLink[]>;
  /** In a transaction nobody else changes these memberships until it ends. */
  membersOf(tx: Transaction, group: Group, listedAt: string): Promise<KnownMembership[]>;
  /** How they came to be where they are wanted now, oldest first. */
  arrivalsOf(tx: Transaction, membershipIds: number[]): Promise<Map<number, Arrival[]>>;
  /**
   * Those about whom something may be known elsewhere that is not known here yet.
   *
   * @param reading an install of which all is known now
   */
  undecided(tx: Transaction, membershipIds: number[], reading?: string): Promise<Set<number>>;
  lookAgain(tx: Transaction, membershipIds: number[], now: string): Promise<void>;
  /** Nothing is left to be confirmed: what we made is not ours any more where it is gone. */
  confirm(tx: Transaction, membershipIds: number[], now: string): Promise<void>;
  /** Who is to be seen once more, now that no call can arrive any more. */
  unconfirmed(install: string, now: string): Promise<(Group & { id: number })[]>;
  /** The look that is due now confirms it. */
  lookToConfirm(tx: Transaction, membershipIds: number[], now: string): Promise<void>;
  /** Hands it to the brake, like every other removal. */
  removeAgain(tx: Transaction, removal: RepeatedRemoval, now: string): Promise<void>;
}

export interface Group {
  tool: string;
  groupId: string;
}

export type DriftLink = Pick<LinkEvidence, 'install' | 'externalProjectId' | 'externalProjectName'>;

const liveStates = heldStates.filter((state) => state !== 'orphaned');

export function createDriftStore(database: Database): DriftStore {
  const { kysely } = database;
  return {
    groupsOf: (install, since) =>
      kysely
        .selectFrom('membership')
        .select(['tool', 'groupId'])
        .distinct()
        .where('install', '=', install)
        .where((eb) =>
          eb.or([eb('state', 'in', liveStates), eb.and([eb('state', '=', 'removed'), eb('updatedAt', '>', since)])]),
        )
        .orderBy('tool')
        .orderBy('groupId')
        .execute(),

    linksOf: (install) =>
      kysely
        .selectFrom('link')
        .select(['install', 'externalProjectId', 'externalProjectName'])
        .distinct()
        .where('install', '=', install)
        .execute(),

    async membersOf(tx, group, listedAt) {
      const ofGroup = inGroup(tx, group)
        .select(['id', 'wanted', 'state', 'memberId', 'leaseToken', 'updatedAt'])
        .select(['lateUntil', 'missedAt'])
        .orderBy('id');
      const rows = await lockRows(database, ofGroup).execute();
      // Asked only now that nobody can add to it.
      const called = await calledSince(tx, group, listedAt);
      const outcomes = await lastOutcomesIn(tx, group);
      const people = await addressesIn(tx, group);
      return rows.map(({ wanted, leaseToken, lateUntil, missedAt, ...row }) => {
        const own = people.get(row.id) ?? [];
        return {
          ...row,
          wanted: wanted === 1,
          lastOutcome: outcomes.get(row.id) ?? null,
          addresses: own.map(({ digest }) => digest),
          given: own.filter(({ wasGiven }) => wasGiven).map(({ digest }) => digest),
          open: own.filter(({ isOpen }) => isOpen).map(({ digest }) => digest),
          isToConfirm: (lateUntil ?? missedAt) !== null && (lateUntil ?? '') <= listedAt,
          address: own.find(({ isCurrent }) => isCurrent)?.digest ?? null,
          wasCalled: leaseToken !== null || row.updatedAt >= listedAt || called.has(row.id),
        };
      });
    },

    async arrivalsOf(tx, membershipIds) {
      if (membershipIds.length === 0) return new Map();
      const receipts = await tx
        .selectFrom('receipt')
        .innerJoin('membership', (join) =>
          join
            .onRef('membership.id', '=', 'receipt.membershipId')
            .onRef('membership.generation', '=', 'receipt.generation'),
        )
        .select(['membershipId', 'outcome', 'createdAt as at'])
        .where('membershipId', 'in', membershipIds)
        .where('outcome', 'in', ['added', 'invited', 'already_member'])
        .orderBy('receipt.id')
        .execute();
      return Map.groupBy(receipts, ({ membershipId }) => membershipId);
    },

    async undecided(tx, membershipIds, reading = '') {
      if (membershipIds.length === 0) return new Set();
      // What an install has that was not read since a silence may be a reason for anybody.
      const unread = await tx
        .selectFrom('installState')
        .select('install')
        .where('heldSince', 'is not', null)
        .where('install', '!=', reading)
        .limit(1)
        .executeTakeFirst();
      if (unread !== undefined) return new Set(membershipIds);
      const rows = await tx
        .selectFrom('membership')
        .innerJoin('derivation', 'derivation.trainerId', 'membership.trainerId')
        .select('id')
        .where('id', 'in', membershipIds)
        .execute();
      return new Set(rows.map(({ id }) => id));
    },

    unconfirmed: (install, now) => findUnconfirmed(kysely, install, now),
    lookAgain,
    confirm,
    lookToConfirm,
    removeAgain,
  };
}

function inGroup(db: Transaction, { tool, groupId }: Group) {
  return db.selectFrom('membership').where('membership.tool', '=', tool).where('membership.groupId', '=', groupId);
}

/** In one go for all: receipt by receipt from the newest, PostgreSQL would go through the table for each. */
async function lastOutcomesIn(tx: Transaction, group: Group): Promise<Map<number, ReceiptOutcome>> {
  const newest = inGroup(tx, group)
    .innerJoin('receipt', 'receipt.membershipId', 'membership.id')
    .where('outcome', 'not in', ['failed', 'refused', 'already_absent'])
    .groupBy('membership.id')
    .select((eb) => eb.fn.max('receipt.id').as('id'));
  const rows = await tx
    .selectFrom('receipt')
    .innerJoin(newest.as('newest'), 'newest.id', 'receipt.id')
    .select(['membershipId', 'outcome'])
    .execute();
  return new Map(rows.map(({ membershipId, outcome }) => [membershipId, outcome]));
}

/** Of whom a call was begun, or came to an end, since. */
async function calledSince(tx: Transaction, group: Group, since: string): Promise<Set<number>> {
  const begun = await inGroup(tx, group)
    .innerJoin('intent', 'intent.membershipId', 'membership.id')
    .select('membership.id')
    .where('intent.createdAt', '>=', since)
    .execute();
  const ended = await inGroup(tx, group)
    .innerJoin('receipt', 'receipt.membershipId', 'membership.id')
    .select('membership.id')
    .where('receipt.createdAt', '>=', since)
    .execute();
  return new Set([...begun, ...ended].map(({ id }) => id));
}

interface KnownAddress {
  id: number;
  digest: string;
  isCurrent: boolean;
  /** Whether somebody was ever let in under it. */
  wasGiven: boolean;
  /** Whether they were not seen out under it since. */
  isOpen: boolean;
}

/** By membership: every address that it is, or was, for. */
async function addressesIn(tx: Transaction, group: Group): Promise<Map<number, KnownAddress[]>> {
  const rows = await inGroup(tx, group)
    .innerJoin('membershipAddress', 'membershipAddress.membershipId', 'membership.id')
    .select(['membership.id', 'workEmailDigest as digest', 'isCurrent', 'givenAt', 'endedAt'])
    .execute();
  return Map.groupBy(
    rows.map(({ id, digest, isCurrent, givenAt, endedAt }) => ({
      id,
      digest,
      isCurrent: isCurrent === 1,
      wasGiven: givenAt !== null,
      isOpen: givenAt !== null && endedAt === null,
    })),
    ({ id }) => id,
  );
}
