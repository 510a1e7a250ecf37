import type { Storage } from '../context.ts';
import type { Row } from '../db/schema.ts';

// The SQL that asks whether the trouble of an alert still stands. It only reads.

export type Standing = Pick<Row<'membership'>, 'wanted' | 'state' | 'doubtedId'>;

export function standingMembership(ctx: Storage, id: number): Promise<Standing | undefined> {
  return ctx.database.kysely
    .selectFrom('membership')
    .select(['wanted', 'state', 'doubtedId'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Whether a call or a look let the trainer in after `since`, in the current generation. */
export async function wasAddedAfter(ctx: Storage, membership: number, since: string): Promise<boolean> {
  const receipt = ctx.database.kysely
    .selectFrom('receipt')
    .innerJoin('membership', (join) =>
      join
        .onRef('membership.id', '=', 'receipt.membershipId')
        .onRef('membership.generation', '=', 'receipt.generation'),
    )
    .select('receipt.id')
    .where('membershipId', '=', membership)
    .where('outcome', 'in', ['added', 'invited'])
    .where('createdAt', '>', since)
    .limit(1);
  return (await receipt.executeTakeFirst()) !== undefined;
}

/** Whether installs have accesses of one trainer in one tool under different addresses. */
export async function doAddressesDiffer(ctx: Storage, tool: string, trainerId: string): Promise<boolean> {
  const accesses = await ctx.database.kysely
    .selectFrom('membership')
    .innerJoin('membershipAddress', 'membershipAddress.membershipId', 'membership.id')
    .select(['membership.install', 'workEmailDigest'])
    .where('tool', '=', tool)
    .where('membership.trainerId', '=', trainerId)
    .where('wanted', '=', true)
    .where('isCurrent', '=', true)
    .execute();
  const [installs, addresses] = [new Set(), new Set()];
  for (const { install, workEmailDigest } of accesses) {
    installs.add(install);
    addresses.add(workEmailDigest);
  }
  return installs.size > 1 && addresses.size > 1;
}
