import type { Storage } from '../context.ts';
import { beginMailing, postponeMailing, settleMailing, type Unsent } from '../converge/invitation-store.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { claimRows, takeTurn } from '../db/lock.ts';
import { onSame } from '../db/query.ts';
import { invitationContext, workEmailContext } from '../db/seal-contexts.ts';
import type { InvitationContent } from '../domain/invitation.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { turnsOf } from '../lib/turns.ts';
import { isReachable } from '../memberships/address-store.ts';
import type { Invited } from './compose-invitation.ts';
import { countMail, findRoom, uncountMail } from './mail-count-store.ts';

// The SQL of mailing invitations. A claim moves the next try behind its lease and counts the try. An earlier claim,
// or a claim on an invitation that was replaced meanwhile, settles nothing.

export interface MailOrder {
  now: string;
  leasedUntil: string;
  /** Where there are any, only addresses of these domains are mailed. */
  managedDomains: readonly string[];
}

export interface MailClaim extends Invited {
  tool: string;
  attempts: number;
}

/** An invitation that is due; null where none is. Installs take turns. */
export async function claimMail(ctx: Storage, order: MailOrder): Promise<MailClaim | null> {
  const turns = turnsOf(ctx.database, 'mail');
  // Mostly there is none, and then no other writer is blocked.
  for (;;) {
    const rows = await findDue(ctx.database.kysely, order).select('membership.install').distinct().execute();
    const [install] = turns.inOrder(rows.map((row) => row.install));
    if (install === undefined) return null;
    turns.served(install);
    const claimed = await inTransaction(ctx.database, (tx) => claimOne(ctx, tx, install, order));
    if (claimed !== null) return claimed;
  }
}

/** A mail that the server has is not kept. Without a next attempt an operator has to act. */
export async function settleMail(ctx: Storage, claim: MailClaim, result: { sentAt: string } | Unsent): Promise<void> {
  const write = async (tx: Transaction) => {
    const isSettled = await settleMailing(tx, claim, result);
    if (isSettled && !('sentAt' in result)) await uncountMail(tx, claim);
  };
  // Durable: after a power cut it would be mailed again.
  await inTransaction(ctx.database, write, { isDurable: true });
}

/** Leaves out trainers who are to be out by now, or who get another invitation. */
function findDue(tx: Transaction, { now, managedDomains }: MailOrder) {
  return tx
    .selectFrom('invitation')
    .innerJoin('membership', 'membership.id', 'invitation.membershipId')
    .where('kind', '=', 'link')
    .where('content', 'is not', null)
    .where('deliveredAt', 'is', null)
    .where('isRenewalWanted', '=', false)
    .where('invitation.nextAttemptAt', '<=', now)
    .where((eb) => eb.or([eb('expiresAt', 'is', null), eb('expiresAt', '>', now)]))
    .where('wanted', '=', true)
    .where('state', 'in', ['invited', 'active'])
    .where((eb) => isReachable(eb, managedDomains));
}

/** @returns null if another instance was faster, or the mail was postponed */
async function claimOne(ctx: Storage, tx: Transaction, install: string, order: MailOrder): Promise<MailClaim | null> {
  const { database, box } = ctx;
  // Otherwise two instances would each find room for the last mail of a day.
  await takeTurn(database, tx, 'mail');
  const next = findDue(tx, order)
    .select('membershipId')
    .where('membership.install', '=', install)
    .orderBy('invitation.nextAttemptAt')
    .limit(1);
  const due = await claimRows(database, next, 'invitation').executeTakeFirst();
  if (due === undefined) return null;
  const { membershipId } = due;
  const claimed = toClaim(box, { ...(await readOne(tx, membershipId)), project: await findProject(tx, membershipId) });
  const { createdAt, address } = claimed;
  const mail = { membershipId, createdAt, install, addressDigest: box.digest(mailboxOf(address)) };
  const roomAt = await findRoom(tx, mail, order.now);
  if (roomAt !== null) {
    await postponeMailing(tx, membershipId, roomAt);
    return null;
  }
  await beginMailing(tx, membershipId, order.leasedUntil);
  await countMail(tx, mail, order.now);
  return { ...claimed, attempts: claimed.attempts + 1 };
}

/** `a+1@b.example` and `a+2@b.example` are one mailbox at most mail servers. */
function mailboxOf(address: string): string {
  const [local = ''] = address.slice(0, address.lastIndexOf('@')).split('+', 1);
  return `${local}@${domainOf(address)}`.toLowerCase();
}

async function readOne(tx: Transaction, membershipId: number) {
  return await tx
    .selectFrom('invitation')
    .innerJoin('membership', 'membership.id', 'invitation.membershipId')
    .innerJoin('membershipAddress', (join) =>
      join.onRef('membershipAddress.membershipId', '=', 'membership.id').on('isCurrent', '=', true),
    )
    .leftJoin('person', onSame('person', 'membership', ['install', 'trainerId']))
    .select(['membership.id as membershipId', 'content', 'createdAt', 'expiresAt', 'tool'])
    .select(['invitation.attempts', 'membershipAddress.install', 'membershipAddress.trainerId'])
    .select(['displayName', 'membershipAddress.workEmail'])
    .where('membership.id', '=', membershipId)
    .executeTakeFirstOrThrow();
}

/** The install's name for the project; several projects may lead into one group. */
async function findProject(tx: Transaction, membershipId: number): Promise<string | null> {
  const link = await tx
    .selectFrom('membership')
    .innerJoin('reason', (join) =>
      join.onRef('reason.membershipId', '=', 'membership.id').onRef('reason.install', '=', 'membership.install'),
    )
    .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .select(['externalProjectName', 'externalProjectId'])
    .where('membership.id', '=', membershipId)
    .where('removedEventAt', 'is', null)
    .orderBy('link.linkId')
    .limit(1)
    .executeTakeFirst();
  return link?.externalProjectName ?? link?.externalProjectId ?? null;
}

type Due = Awaited<ReturnType<typeof readOne>> & Pick<MailClaim, 'project'>;

function toClaim(box: SecretBox, claimed: Due): MailClaim {
  const { content, workEmail, install, trainerId, ...claim } = claimed;
  if (content === null || workEmail === null) throw new Error('claimed with nothing to mail');
  const opened = box.open(content, invitationContext(claim)).toString('utf8');
  const { url } = JSON.parse(opened) as Extract<InvitationContent, { kind: 'link' }>;
  const address = box.open(workEmail, workEmailContext({ install, trainerId })).toString('utf8');
  return { ...claim, url, address };
}
