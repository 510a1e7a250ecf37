import type { ExpressionBuilder, ExpressionWrapper, SqlBool } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import type { Tables } from '../db/tables.ts';
import type { InvitationContent } from '../domain/invitation.ts';
import { invitationContext, workEmailContext } from '../keys/seal-contexts.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import type { Invited } from './compose-invitation.ts';
import { countMail, hasRoom, lockCounts, purgeCounts, uncountMail } from './mail-count-store.ts';

/**
 * The SQL of mailing invitations. A claim moves the next try behind its lease and counts the try. An earlier claim,
 * or a claim on an invitation that was replaced meanwhile, settles nothing.
 */
export interface MailStore {
  /** An invitation that is due; null where none is. */
  claim(order: MailOrder): Promise<MailClaim | null>;
  /** The mail server has the mail: the invitation is not kept. */
  settleSent(claim: MailClaim, now: string): Promise<void>;
  /** @param nextAttemptAt null where an operator has to act */
  settleUnsent(claim: MailClaim, failure: string, nextAttemptAt: string | null): Promise<void>;
  /** Deletes counts that are older than a day. */
  purge(now: string): Promise<void>;
}

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

export function createMailStore(database: Database, box: SecretBox): MailStore {
  async function settle(claim: MailClaim, values: object, isSent: boolean): Promise<void> {
    const write = async (tx: Transaction) => {
      const { numUpdatedRows } = await tx
        .updateTable('invitation')
        .set(values)
        .where('membershipId', '=', claim.membershipId)
        .where('createdAt', '=', claim.createdAt)
        .where('attempts', '=', claim.attempts)
        .where('deliveredAt', 'is', null)
        .executeTakeFirst();
      if (!isSent && numUpdatedRows === 1n) await uncountMail(tx, claim);
    };
    // Durable: after a power cut it would be mailed again.
    await inTransaction(database, write, { isDurable: true });
  }

  return {
    async claim(order) {
      // Mostly there is none, and then no other writer is blocked.
      if ((await findDue(database.kysely, order).executeTakeFirst()) === undefined) return null;
      const claimed = await inTransaction(database, (tx) => claimOne(database, tx, order));
      return claimed === null ? null : toClaim(box, claimed);
    },

    settleSent(claim, now) {
      const delivered = { content: null, deliveredAt: now, deliveredBy: 'mail' };
      return settle(claim, { ...delivered, nextAttemptAt: null, failure: null }, true);
    },

    settleUnsent: (claim, failure, nextAttemptAt) => settle(claim, { failure, nextAttemptAt }, false),

    purge: (now) => inTransaction(database, (tx) => purgeCounts(tx, now)),
  };
}

/** Whether the trainer was given access under an address that may be mailed. */
export function isReachable(
  eb: ExpressionBuilder<Tables, 'membership'>,
  managedDomains: readonly string[],
): ExpressionWrapper<Tables, 'membership', SqlBool> {
  let address = eb
    .selectFrom('membershipAddress')
    .select('membershipAddress.id')
    .whereRef('membershipAddress.membershipId', '=', 'membership.id')
    .where('isCurrent', '=', 1);
  if (managedDomains.length > 0) address = address.where('workEmailDomain', 'in', managedDomains);
  return eb.exists(address);
}

/** Leaves out trainers who are to be out by now, or who get another invitation. */
function findDue(tx: Transaction, { now, managedDomains }: MailOrder) {
  return tx
    .selectFrom('invitation')
    .innerJoin('membership', 'membership.id', 'invitation.membershipId')
    .select('membershipId')
    .where('kind', '=', 'link')
    .where('content', 'is not', null)
    .where('deliveredAt', 'is', null)
    .where('isRenewalWanted', '=', 0)
    .where('invitation.nextAttemptAt', '<=', now)
    .where((eb) => eb.or([eb('expiresAt', 'is', null), eb('expiresAt', '>', now)]))
    .where('wanted', '=', 1)
    .where('state', 'in', ['invited', 'active'])
    .where((eb) => isReachable(eb, managedDomains))
    .where((eb) => hasRoom(eb, now))
    .orderBy('invitation.nextAttemptAt')
    .limit(1);
}

async function claimOne({ dialect }: Pick<Database, 'dialect'>, tx: Transaction, order: MailOrder) {
  await lockCounts(tx, dialect);
  const query = findDue(tx, order);
  const due = await (dialect === 'postgres' ? query.forUpdate('invitation').skipLocked() : query).executeTakeFirst();
  if (due === undefined) return null;
  const { membershipId } = due;
  await tx
    .updateTable('invitation')
    .set((eb) => ({ attempts: eb('attempts', '+', 1), nextAttemptAt: order.leasedUntil }))
    .where('membershipId', '=', membershipId)
    .execute();
  const { workEmailDigest: addressDigest, countedFor, ...claimed } = await readOne(tx, membershipId);
  const { createdAt } = claimed;
  await countMail(tx, { membershipId, createdAt, install: countedFor, addressDigest }, order.now);
  return { ...claimed, project: await findProject(tx, membershipId) };
}

async function readOne(tx: Transaction, membershipId: number) {
  return await tx
    .selectFrom('invitation')
    .innerJoin('membership', 'membership.id', 'invitation.membershipId')
    .innerJoin('membershipAddress', (join) =>
      join.onRef('membershipAddress.membershipId', '=', 'membership.id').on('isCurrent', '=', 1),
    )
    .leftJoin('person', (join) =>
      join.onRef('person.install', '=', 'membership.install').onRef('person.trainerId', '=', 'membership.trainerId'),
    )
    .select(['membership.id as membershipId', 'content', 'createdAt', 'expiresAt', 'tool'])
    .select(['invitation.attempts', 'membershipAddress.install', 'membershipAddress.trainerId'])
    .select(['displayName', 'membershipAddress.workEmail', 'membershipAddress.workEmailDigest'])
    .select('membership.install as countedFor')
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
    .innerJoin('link', (join) =>
      join.onRef('link.install', '=', 'reason.install').onRef('link.linkId', '=', 'reason.linkId'),
    )
    .select(['externalProjectName', 'externalProjectId'])
    .where('membership.id', '=', membershipId)
    .where('removedEventAt', 'is', null)
    .orderBy('link.linkId')
    .limit(1)
    .executeTakeFirst();
  return link?.externalProjectName ?? link?.externalProjectId ?? null;
}

type Claimed = NonNullable<Awaited<ReturnType<typeof claimOne>>>;

function toClaim(box: SecretBox, claimed: Claimed): MailClaim {
  const { content, workEmail, install, trainerId, ...claim } = claimed;
  if (content === null || workEmail === null) throw new Error('claimed with nothing to mail');
  const opened = box.open(content, invitationContext(claim.membershipId)).toString('utf8');
  const { url } = JSON.parse(opened) as Extract<InvitationContent, { kind: 'link' }>;
  const address = box.open(workEmail, workEmailContext({ install, trainerId })).toString('utf8');
  return { ...claim, url, address };
}
