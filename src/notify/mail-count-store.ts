import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { toInstant } from '../lib/clock.ts';

/**
 * The SQL of how many mails an install sent in the last 24 hours, in total and to each mailbox. A mail is counted
 * before it is sent, and once, however often it is tried.
 */

const mostToMailbox = 3;
/** More than a customer invites in a day, and few enough for the mail server to keep its good name. */
const mostOfInstall = 1000;
const dayMs = 24 * 3_600_000;

/** @returns when the install may mail to this mailbox again; null if it may now */
export async function findRoom(
  tx: Transaction,
  { install, addressDigest, ...invitation }: Counted & { install: string; addressDigest: string },
  now: string,
): Promise<string | null> {
  const sent = tx
    .selectFrom('mailed')
    .select('mailedAt')
    .where('install', '=', install)
    .where('mailedAt', '>', dayBefore(now))
    .where((eb) =>
      eb.or([eb('membershipId', '!=', invitation.membershipId), eb('invitedAt', '!=', invitation.createdAt)]),
    )
    .orderBy('mailedAt', 'desc')
    .limit(1);
  const toMailbox = sent.where('addressDigest', '=', addressDigest).offset(mostToMailbox - 1);
  const oldest = (await toMailbox.executeTakeFirst()) ?? (await sent.offset(mostOfInstall - 1).executeTakeFirst());
  return oldest === undefined ? null : toInstant(new Date(Date.parse(oldest.mailedAt) + dayMs));
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

/** Deletes counts that are older than a day. */
export async function purgeCounts(ctx: Storage, now: string): Promise<void> {
  await inTransaction(ctx.database, (tx) => tx.deleteFrom('mailed').where('mailedAt', '<=', dayBefore(now)).execute());
}

function dayBefore(now: string): string {
  return toInstant(new Date(Date.parse(now) - dayMs));
}
