import type { Storage } from '../context.ts';
import { beginMailing, postponeMailing, settleMailing, type Unsent } from '../converge/invitation-store.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { claimRows, takeTurn } from '../db/lock.ts';
import { onSame } from '../db/query.ts';
import { invitationContext, workEmailContext } from '../db/seal-contexts.ts';
import type { InvitationContent } from '../domain/invitation.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { dayMs, toInstant } from '../lib/clock.ts';
import { turnsOf } from '../lib/turns.ts';
import { isReachable } from '../memberships/identity-store.ts';

// The SQL of mailing invitations. A claim moves the next try behind its lease and counts the try. An earlier claim,
// or a claim on an invitation that was replaced meanwhile, settles nothing.

export interface MailOrder {
  now: string;
  leasedUntil: string;
  /** If there are any, only addresses of these domains are mailed. */
  managedDomains: readonly string[];
}

export interface Invited {
  membershipId: number;
  address: string;
  displayName: string | null;
  project: string | null;
  url: string;
  expiresAt: string | null;
  /** When the tool made the invitation. */
  createdAt: string;
}

export interface MailClaim extends Invited {
  tool: string;
  attempts: number;
}

/** An invitation that is due; null if none is. Installs take turns. */
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

/** A mail that the server has accepted is not kept. Without a next attempt an operator has to act. */
export async function settleMail(ctx: Storage, claim: MailClaim, result: { sentAt: string } | Unsent): Promise<void> {
  const write = async (tx: Transaction) => {
    const isSettled = await settleMailing(tx, claim, result);
    if (isSettled && !('sentAt' in result)) await uncountMail(tx, claim);
  };
  // Durable: after a power cut it would be mailed again.
  await inTransaction(ctx.database, write, { isDurable: true });
}

/** Leaves out trainers who should be out by now, or who get another invitation. */
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

// How many mails an install sent in the last 24 hours, in total and to each mailbox. A mail is counted before it is
// sent, and once, however often it is tried.

const mostToMailbox = 3;
/** More than a customer invites in a day, and few enough for the mail server to keep its good name. */
const mostOfInstall = 1000;

/** @returns when the install may mail to this mailbox again; null if it may now */
async function findRoom(
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

async function countMail(
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
async function uncountMail(tx: Transaction, { membershipId, createdAt }: Counted): Promise<void> {
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
