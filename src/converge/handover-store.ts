import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { lockRows } from '../db/lease.ts';
import { countRows } from '../db/query.ts';
import { invitationContext } from '../db/seal-contexts.ts';
import { AppError } from '../domain/errors.ts';
import type { InvitationContent } from '../domain/invitation.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import type { Storage } from '../keys/storage.ts';
import { isReachable } from '../memberships/address-store.ts';
import { isInvitationUndelivered } from '../memberships/membership-list-store.ts';
import { handOver, type NewInvitation, wantRenewals } from './invitation-store.ts';

// The SQL of handing invitations over, as far as operators do it or look at it.

export type WaitingInvitation = Awaited<ReturnType<typeof listUndelivered>>[number];

/**
 * Returns an invitation this once: the caller hands it over, and it is not kept.
 *
 * @throws AppError `not_found`, or `conflict` where there is nothing to hand over
 */
export function takeInvitation(ctx: Storage, id: number, by: By): Promise<NewInvitation> {
  return inTransaction(
    ctx.database,
    async (tx) => {
      const { invitation } = await findOne(ctx.database, tx, id);
      const content = openFor(ctx.box, invitation, by.at);
      await handOver(tx, id, by.at);
      await writeAudit(tx, by, 'members invitation', `membership ${id}`);
      return { content, expiresAt: invitation.expiresAt };
    },
    { isDurable: true },
  );
}

/**
 * Has the tool invite a trainer again.
 *
 * @param canRenew whether a tool can do that
 * @throws AppError `not_found`, or `conflict` where it cannot be done
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
      const message = 'The tool cannot make another password. Set one in the tool';
      throw new AppError('conflict', message);
    }
    if (membership.state !== 'invited') {
      throw new AppError('conflict', `Membership ${id} is already in, so it needs no invitation`);
    }
    if (!canRenew(membership.tool)) {
      const message = `${membership.tool} cannot renew an invitation for Gangway. Renew it in the tool`;
      throw new AppError('conflict', message);
    }
    await wantRenewals(tx, [id], by.at);
    await writeAudit(tx, by, 'members renew', `membership ${id}`);
  });
}

/**
 * The invitations that were not handed over yet, all or those of these memberships; and whether there is an address to
 * which each could be mailed.
 */
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
  const memberships = tx.selectFrom('membership').selectAll().where('id', '=', id);
  const membership = await lockRows(database, memberships).executeTakeFirst();
  if (membership === undefined) throw new AppError('not_found', `There is no membership ${id}`);
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

function openFor(box: SecretBox, invitation: Invitation, now: string): InvitationContent {
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
    const message = `Membership ${id} is about to get another invitation. Try again in a moment`;
    throw new AppError('conflict', message);
  }
  if (expiresAt !== null && expiresAt <= now) {
    const message = `The invitation of membership ${id} expired at ${expiresAt}. ${renew}`;
    throw new AppError('conflict', message);
  }
  return JSON.parse(box.open(content, invitationContext({ membershipId: id })).toString('utf8')) as InvitationContent;
}
