import type { SelectQueryBuilder } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { hasChanged } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import { invitationContext } from '../db/seal-contexts.ts';
import type { DeliveredBy, InvitationContent } from '../domain/invitation.ts';
import type { Storage } from '../keys/storage.ts';

// The SQL of invitations, as far as converging needs it.

/** What a tool returned for the trainer to get in with. */
export interface NewInvitation {
  content: InvitationContent;
  /** An instant; null if it is valid until it is used. */
  expiresAt: string | null;
}

/** Keeps an invitation until it was delivered. It replaces any earlier one. */
export async function keepInvitation(
  ctx: Storage,
  tx: Transaction,
  membershipId: number,
  { content, expiresAt }: NewInvitation,
  now: string,
): Promise<void> {
  const row = {
    kind: content.kind,
    content: ctx.box.seal(Buffer.from(JSON.stringify(content)), invitationContext({ membershipId })),
    createdAt: now,
    expiresAt,
    deliveredAt: null,
    deliveredBy: null,
    isRenewalWanted: false,
    attempts: 0,
    nextAttemptAt: now,
    failure: null,
  };
  await tx
    .insertInto('invitation')
    .values({ membershipId, ...row })
    .onConflict((conflict) => conflict.column('membershipId').doUpdateSet(row))
    .execute();
}

/** A link is useless once the member is in. */
export async function dropInvitationLink(tx: Transaction, membershipId: number): Promise<void> {
  await tx.deleteFrom('invitation').where('membershipId', '=', membershipId).where('kind', '=', 'link').execute();
}

/** The shared link of a tool is worthless now, so every invited member needs a new one. */
export async function wantAllRenewed(tx: Transaction, tool: string, now: string): Promise<void> {
  const waiting = tx
    .selectFrom('membership')
    .select('id')
    .where('tool', '=', tool)
    .where('state', '=', 'invited')
    .where('wanted', '=', true);
  await wantRenewals(tx, waiting, now);
}

/** Drops invitations of members who are in, or no longer wanted. @returns how many there were */
export async function dropInvitations(tx: Transaction, membershipIds: readonly number[]): Promise<number> {
  const dropped = tx.deleteFrom('invitation').where('membershipId', 'in', membershipIds);
  return Number((await dropped.executeTakeFirst()).numDeletedRows);
}

/** An operator tells them: nothing of it is kept. */
export async function handOver(tx: Transaction, membershipId: number, at: string): Promise<void> {
  await tx.updateTable('invitation').set(delivered('operator', at)).where('membershipId', '=', membershipId).execute();
}

/** Counts a try to mail it, and moves the next one behind the lease. */
export async function beginMailing(tx: Transaction, membershipId: number, leasedUntil: string): Promise<void> {
  await tx
    .updateTable('invitation')
    .set((eb) => ({ attempts: eb('attempts', '+', 1), nextAttemptAt: leasedUntil }))
    .where('membershipId', '=', membershipId)
    .execute();
}

export async function postponeMailing(tx: Transaction, membershipId: number, nextAttemptAt: string): Promise<void> {
  await tx.updateTable('invitation').set({ nextAttemptAt }).where('membershipId', '=', membershipId).execute();
}

/** A try to mail an invitation: it settles nothing once there is a later one, or another invitation. */
export type MailTry = Pick<Row<'invitation'>, 'membershipId' | 'createdAt' | 'attempts'>;

export interface Unsent {
  failure: string;
  /** Null where an operator has to see to it. */
  nextAttemptAt: string | null;
}

/** @returns whether the try still counted */
export async function settleMailing(
  tx: Transaction,
  { membershipId, createdAt, attempts }: MailTry,
  result: { sentAt: string } | Unsent,
): Promise<boolean> {
  const update = tx
    .updateTable('invitation')
    .set('sentAt' in result ? delivered('mail', result.sentAt) : result)
    .where((eb) => eb.and({ membershipId, createdAt, attempts }))
    .where('deliveredAt', 'is', null);
  return await hasChanged(update);
}

function delivered(deliveredBy: DeliveredBy, deliveredAt: string) {
  return { content: null, deliveredAt, deliveredBy, nextAttemptAt: null, failure: null };
}

/** Requests new invitations for invited members. */
export async function wantRenewals(
  tx: Transaction,
  membershipIds: number[] | SelectQueryBuilder<Tables, 'membership', { id: number }>,
  now: string,
): Promise<void> {
  await tx
    .updateTable('invitation')
    .set({ isRenewalWanted: true })
    .where('membershipId', 'in', membershipIds)
    .execute();
  await tx
    .updateTable('membership')
    .set({ lookAgain: true, nextAttemptAt: now })
    .where('id', 'in', membershipIds)
    .execute();
}
