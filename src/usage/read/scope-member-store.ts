import type { Transaction } from '../../db/database.ts';
import { inParts } from '../../db/key-in.ts';

/** The SQL that reads the members of a scope, as their tool knows them. */

/** A membership, as far as the trainer's work depends on it. */
export interface ScopeMember {
  membershipId: number;
  memberId: string;
  trainerId: string;
  install: string;
  groupId: string;
  generation: number;
  /** Whether the trainer is wanted in the group and has got in. */
  isIn: boolean;
  /** When Gangway first added the trainer; null where Gangway did not. */
  addedAt: string | null;
  /** Digests of every address that the membership is, or was, for. */
  digests: readonly string[];
  /** Whether other trainers have, or had, the same account by a shared address. */
  isShared?: boolean;
}

/** The memberships of these groups that have, or had, an account. */
export async function loadMembers(db: Transaction, tool: string, groupIds: readonly string[]): Promise<ScopeMember[]> {
  if (groupIds.length === 0) return [];
  const rows = await db
    .selectFrom('membership')
    .select(['id', 'memberId', 'trainerId', 'install', 'groupId', 'generation', 'wanted', 'state'])
    .select((eb) =>
      eb
        .selectFrom('receipt')
        .select((of) => of.fn.min('receipt.createdAt').as('at'))
        .whereRef('receipt.membershipId', '=', 'membership.id')
        .where('outcome', 'in', ['added', 'invited'])
        .as('addedAt'),
    )
    .where('tool', '=', tool)
    .where('groupId', 'in', groupIds)
    .where('memberId', 'is not', null)
    .orderBy('id')
    .execute();
  const digests = await digestsOf(
    db,
    rows.map(({ id }) => id),
  );
  return rows.flatMap(({ id, memberId, wanted, state, addedAt, ...row }) => {
    if (memberId === null) return [];
    const isIn = wanted === 1 && (state === 'active' || state === 'invited');
    const known = digests.get(id) ?? [];
    return [{ ...row, membershipId: id, memberId, isIn, addedAt, digests: known }];
  });
}

async function digestsOf(db: Transaction, ids: readonly number[]): Promise<Map<number, string[]>> {
  const digests = new Map<number, string[]>();
  for (const part of inParts(ids)) {
    const rows = await db
      .selectFrom('membershipAddress')
      .select(['membershipId', 'workEmailDigest'])
      .where('membershipId', 'in', part)
      .execute();
    for (const { membershipId, workEmailDigest } of rows) {
      digests.set(membershipId, [...(digests.get(membershipId) ?? []), workEmailDigest]);
    }
  }
  return digests;
}
