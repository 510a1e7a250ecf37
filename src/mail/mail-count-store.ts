import type { ExpressionBuilder, ExpressionWrapper, SqlBool } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { takeTurn } from '../db/lease.ts';
import type { Tables } from '../db/tables.ts';
import { toInstant } from '../lib/clock.ts';

/**
 * The SQL of how many mails an address had today. They are counted by install and address: no customer uses up the
 * mails of another. A mail is counted before it is sent, and once, however often it is tried.
 */

/** How many mails an address may have in a day from one install. */
const mailsADay = 3;
const dayMs = 24 * 3_600_000;

/** Whether the trainer of an invitation may get another mail now. */
export function hasRoom(
  eb: ExpressionBuilder<Tables, 'invitation' | 'membership'>,
  now: string,
): ExpressionWrapper<Tables, 'invitation' | 'membership', SqlBool> {
  const others = eb
    .selectFrom('mailed')
    .innerJoin('membershipAddress', (join) =>
      join.onRef('membershipAddress.workEmailDigest', '=', 'mailed.addressDigest'),
    )
    .select((of) => of.fn.countAll<number>().as('n'))
    .whereRef('mailed.install', '=', 'membership.install')
    .whereRef('membershipAddress.membershipId', '=', 'membership.id')
    .where('isCurrent', '=', 1)
    .where('mailedAt', '>', dayBefore(now))
    .where((of) =>
      of.or([
        of('mailed.membershipId', '!=', of.ref('invitation.membershipId')),
        of('mailed.invitedAt', '!=', of.ref('invitation.createdAt')),
      ]),
    );
  return eb(others, '<', mailsADay);
}

/** Call it before `hasRoom`: otherwise two instances would each find room for the last mail of a day. */
export async function lockCounts(database: Pick<Database, 'dialect'>, tx: Transaction): Promise<void> {
  await takeTurn(database, tx, 'mail');
}

interface Counted {
  membershipId: number;
  /** When the invitation was made. */
  createdAt: string;
}

export async function countMail(
  tx: Transaction,
  { membershipId, createdAt: invitedAt, ...mailed }: Counted & { install: string; addressDigest: string },
  mailedAt: string,
): Promise<void> {
  await tx
    .insertInto('mailed')
    .values({ membershipId, invitedAt, mailedAt, ...mailed })
    .onConflict((conflict) => conflict.columns(['membershipId', 'invitedAt']).doUpdateSet({ mailedAt }))
    .execute();
}

/** The mail did not arrive. */
export async function uncountMail(tx: Transaction, { membershipId, createdAt }: Counted): Promise<void> {
  await tx.deleteFrom('mailed').where('membershipId', '=', membershipId).where('invitedAt', '=', createdAt).execute();
}

/** Deletes what was counted for these memberships. */
export async function forgetMailed(tx: Transaction, membershipIds: readonly number[]): Promise<void> {
  await tx.deleteFrom('mailed').where('membershipId', 'in', membershipIds).execute();
}

/** Deletes counts that are no longer needed. */
export async function purgeCounts(tx: Transaction, now: string): Promise<void> {
  await tx.deleteFrom('mailed').where('mailedAt', '<=', dayBefore(now)).execute();
}

function dayBefore(now: string): string {
  return toInstant(new Date(Date.parse(now) - dayMs));
}
