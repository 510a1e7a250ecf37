import type { SelectQueryBuilder } from 'kysely';
import type { Storage } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { lockRows } from '../db/lock.ts';
import { countRows, hasChanged } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import { invitationContext } from '../db/seal-contexts.ts';
import { AppError } from '../domain/errors.ts';
import type { DeliveredBy, InvitationContent } from '../domain/invitation.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { isReachable } from '../memberships/identity-store.ts';
import { isInvitationUndelivered } from '../memberships/membership-list-store.ts';
import { lockMembership } from '../memberships/ownership-store.ts';

// The SQL of invitations. A tool makes an invitation, and mail or an operator delivers it.

/** An invitation as the tool made it. */
export interface NewInvitation {
  content: InvitationContent;
  /** Null if it is valid until it is used. */
  expiresAt: string | null;
}

/** Keeps an invitation until it is delivered. It replaces an earlier one. */
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

/** After a reset of the shared link every invited member needs a new one. */
export async function wantAllRenewed(tx: Transaction, tool: string, now: string): Promise<void> {
  const waiting = tx
    .selectFrom('membership')
    .select('id')
    .where('tool', '=', tool)
    .where('state', '=', 'invited')
    .where('wanted', '=', true);
  await wantRenewals(tx, waiting, now);
}

/** Drops the invitations of members who are in or no longer wanted. @returns how many */
export async function dropInvitations(tx: Transaction, membershipIds: readonly number[]): Promise<number> {
  const dropped = tx.deleteFrom('invitation').where('membershipId', 'in', membershipIds);
  return Number((await dropped.executeTakeFirst()).numDeletedRows);
}

/** Counts a try to mail the invitation, and schedules the next one after the lease. */
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

/** A try to mail an invitation. It settles nothing after a later try or a new invitation. */
type MailTry = Pick<Row<'invitation'>, 'membershipId' | 'createdAt' | 'attempts'>;

export interface Unsent {
  failure: string;
  /** Null if an operator must act. */
  nextAttemptAt: string | null;
}

/** @returns whether the try was still the latest */
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

type WaitingInvitation = Awaited<ReturnType<typeof listUndelivered>>[number];

/**
 * Returns the invitation to an operator who delivers it. It is not kept, so this works only once.
 *
 * @throws AppError `not_found`, or `conflict` if there is nothing to deliver
 */
export function takeInvitation(ctx: Storage, id: number, by: By): Promise<NewInvitation> {
  return inTransaction(
    ctx.database,
    async (tx) => {
      const { invitation } = await findOne(ctx.database, tx, id);
      const content = openInvitation(ctx.box, invitation, by.at);
      await tx.updateTable('invitation').set(delivered('operator', by.at)).where('membershipId', '=', id).execute();
      await writeAudit(tx, by, 'members invitation', `membership ${id}`);
      return { content, expiresAt: invitation.expiresAt };
    },
    { isDurable: true },
  );
}

/**
 * Requests a new invitation from the tool.
 *
 * @param canRenew whether the tool can do that
 * @throws AppError `not_found`, or `conflict` if that is impossible
 */
export function renewInvitationOf(
  ctx: Storage,
  id: number,
  canRenew: (tool: string) => boolean,
  by: By,
): Promise<void> {
  return inTransaction(ctx.database, async (tx) => {
    const { membership, invitation } = await findOne(ctx.database, tx, id);
    if (invitation.kind === 'password') {
      throw new AppError('conflict', 'The tool cannot make another password. Set one in the tool');
    }
    if (membership.state !== 'invited') {
      throw new AppError('conflict', `Membership ${id} is already in, so it needs no invitation`);
    }
    if (!canRenew(membership.tool)) {
      throw new AppError('conflict', `${membership.tool} cannot renew an invitation for Gangway. Renew it in the tool`);
    }
    await wantRenewals(tx, [id], by.at);
    await writeAudit(tx, by, 'members renew', `membership ${id}`);
  });
}

/** Invitations that are not delivered yet, of all or of these memberships, and whether each can be mailed. */
export async function listUndelivered(db: Transaction, managedDomains: readonly string[], membershipIds?: number[]) {
  let query = db
    .selectFrom('membership')
    .innerJoin('invitation', 'invitation.membershipId', 'membership.id')
    .select(['membershipId', 'kind', 'invitation.createdAt', 'expiresAt', 'isRenewalWanted'])
    .select(['invitation.nextAttemptAt', 'invitation.failure'])
    .select((eb) => isReachable(eb, managedDomains).as('isReachable'))
    .where((eb) => isInvitationUndelivered(eb));
  if (membershipIds !== undefined) query = query.where('membershipId', 'in', membershipIds);
  return await query.execute();
}

export async function countUndelivered(db: Transaction): Promise<number> {
  const invited = db.selectFrom('membership').innerJoin('invitation', 'invitation.membershipId', 'membership.id');
  return await countRows(invited.where((eb) => isInvitationUndelivered(eb)));
}

/** Locks both rows until the transaction ends. */
async function findOne(database: Database, tx: Transaction, id: number) {
  const membership = await lockMembership(database, tx, id);
  const { wanted, state } = membership;
  if (!wanted || (state !== 'invited' && state !== 'active')) {
    throw new AppError('conflict', `Membership ${id} is ${state} and has no invitation to send`);
  }
  const rows = tx.selectFrom('invitation').selectAll().where('membershipId', '=', id);
  const invitation = await lockRows(database, rows).executeTakeFirst();
  if (invitation !== undefined) return { membership, invitation };
  const message = `Membership ${id} has no invitation to send. The trainer has a login, or the tool sent the invitation`;
  throw new AppError('conflict', message);
}

type Invitation = Awaited<ReturnType<typeof findOne>>['invitation'];

function openInvitation(box: SecretBox, invitation: Invitation, now: string): InvitationContent {
  const { membershipId: id, content, deliveredAt, deliveredBy, expiresAt } = invitation;
  const renew =
    invitation.kind === 'password'
      ? 'Set another password in the tool'
      : `Run gangway members renew ${id} for a new one`;
  if (content === null) {
    const how = deliveredBy === 'mail' ? 'mailed' : 'shown to an operator';
    throw new AppError(
      'conflict',
      `The invitation of membership ${id} was ${how} at ${deliveredAt} and is not kept. ${renew}`,
    );
  }
  if (invitation.isRenewalWanted) {
    throw new AppError('conflict', `Membership ${id} is about to get another invitation. Try again in a moment`);
  }
  if (expiresAt !== null && expiresAt <= now) {
    throw new AppError('conflict', `The invitation of membership ${id} expired at ${expiresAt}. ${renew}`);
  }
  return JSON.parse(box.open(content, invitationContext({ membershipId: id })).toString('utf8')) as InvitationContent;
}

/**
 * What a trainer waits for: a work email, the mail, an operator who delivers the invitation, a new invitation from the
 * tool, or an operator who renews an expired one.
 */
export type WaitedFor = 'work_email' | 'mail' | 'operator' | 'new_invitation' | 'renewal';

/** Pure. @param hasMail whether mail is configured */
export function waitsFor(
  invitation: WaitingInvitation,
  { now, hasMail }: { now: string; hasMail: boolean },
): Exclude<WaitedFor, 'work_email'> {
  const { kind, expiresAt, nextAttemptAt } = invitation;
  if (invitation.isRenewalWanted) return 'new_invitation';
  if (expiresAt !== null && expiresAt <= now) return 'renewal';
  const isMailed = hasMail && kind === 'link' && nextAttemptAt !== null;
  return isMailed && invitation.isReachable ? 'mail' : 'operator';
}
