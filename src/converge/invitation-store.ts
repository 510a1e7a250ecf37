import type { SelectQueryBuilder } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Tables } from '../db/tables.ts';
import type { InvitationContent } from '../domain/invitation.ts';
import { invitationContext } from '../keys/seal-contexts.ts';
import type { SecretBox } from '../keys/secret-box.ts';

/** What a tool returned for the trainer to get in with. */
export interface NewInvitation {
  content: InvitationContent;
  /** An instant; null if it is valid until it is used. */
  expiresAt: string | null;
}

/** The SQL of invitations, as far as converging needs it. */
export interface InvitationStore {
  /** Keeps an invitation until it was delivered. It replaces any earlier one. */
  keep(tx: Transaction, membershipId: number, invitation: NewInvitation, now: string): Promise<void>;
  /** Drops the invitation: the member is in, or is no longer wanted. */
  drop(tx: Transaction, membershipId: number): Promise<void>;
  /** The same for a link only. A link is useless once the member is in. */
  dropLink(tx: Transaction, membershipId: number): Promise<void>;
  /** Requests a new invitation for an invited member. */
  renew(tx: Transaction, membershipId: number, now: string): Promise<void>;
  /** The shared link of a tool is worthless now, so every invited member needs a new one. */
  renewAll(tx: Transaction, tool: string, now: string): Promise<void>;
}

export function createInvitationStore(box: SecretBox): InvitationStore {
  return {
    async keep(tx, membershipId, { content, expiresAt }, now) {
      const row = {
        kind: content.kind,
        content: box.seal(Buffer.from(JSON.stringify(content)), invitationContext(membershipId)),
        createdAt: now,
        expiresAt,
        deliveredAt: null,
        deliveredBy: null,
        isRenewalWanted: 0,
        attempts: 0,
        nextAttemptAt: now,
        failure: null,
      };
      await tx
        .insertInto('invitation')
        .values({ membershipId, ...row })
        .onConflict((conflict) => conflict.column('membershipId').doUpdateSet(row))
        .execute();
    },

    async drop(tx, membershipId) {
      await tx.deleteFrom('invitation').where('membershipId', '=', membershipId).execute();
    },

    async dropLink(tx, membershipId) {
      await tx.deleteFrom('invitation').where('membershipId', '=', membershipId).where('kind', '=', 'link').execute();
    },

    renew: (tx, membershipId, now) => wantRenewals(tx, [membershipId], now),

    async renewAll(tx, tool, now) {
      const waiting = tx
        .selectFrom('membership')
        .select('id')
        .where('tool', '=', tool)
        .where('state', '=', 'invited')
        .where('wanted', '=', 1);
      await wantRenewals(tx, waiting, now);
    },
  };
}

async function wantRenewals(
  tx: Transaction,
  membershipIds: number[] | SelectQueryBuilder<Tables, 'membership', { id: number }>,
  now: string,
): Promise<void> {
  await tx.updateTable('invitation').set({ isRenewalWanted: 1 }).where('membershipId', 'in', membershipIds).execute();
  await tx
    .updateTable('membership')
    .set({ lookAgain: 1, nextAttemptAt: now })
    .where('id', 'in', membershipIds)
    .execute();
}
