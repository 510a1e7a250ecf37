import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { dueAgain } from '../memberships/look-store.ts';
import { leaseMs } from './converge-steps.ts';
import { createInvitationStore, type NewInvitation } from './invitation-store.ts';

/**
 * The SQL of making the links worthless that let everybody in. Each wish is counted, in the
 * transaction that settles the removal it comes from: a reset serves those that were counted when it
 * was claimed, and no crash forgets one. A claim moves the next try behind its lease.
 */
export interface ResetStore {
  /** All groups of a tool whose link is due. */
  claim(tool: string, now: string, leasedUntil: string): Promise<ResetClaim[]>;
  /** These are worthless now: whoever still waits in the tool is to have another link. */
  settleDone(claims: readonly ResetClaim[], now: string): Promise<void>;
  settleFailed(claim: ResetClaim, nextAttemptAt: string): Promise<void>;
  /** How many are due in these tools. */
  countDue(tools: readonly string[], now: string): Promise<number>;
}

export interface ResetClaim {
  tool: string;
  groupId: string;
  /** How many wishes there were. */
  wanted: number;
  attempts: number;
}

/** Every reset has all who wait invited anew: so it is made for a batch of removals. */
const windowMs = 15 * 60_000;
/** Where an operator has to hand the new link to somebody again. */
const handedWindowMs = 60 * 60_000;

export function createResetStore(database: Database, box: SecretBox): ResetStore {
  const invitations = createInvitationStore(box);
  return {
    async claim(tool, now, leasedUntil) {
      const due = database.kysely
        .selectFrom('linkReset')
        .select('groupId')
        .where('tool', '=', tool)
        .where('nextAttemptAt', '<=', now);
      // Mostly there is none, and then nobody is held up.
      if ((await due.executeTakeFirst()) === undefined) return [];
      return await inTransaction(database, (tx) =>
        tx
          .updateTable('linkReset')
          .set((eb) => ({ attempts: eb('attempts', '+', 1), nextAttemptAt: leasedUntil }))
          .where('tool', '=', tool)
          .where('nextAttemptAt', '<=', now)
          .returning(['tool', 'groupId', 'wanted', 'attempts'])
          .execute(),
      );
    },

    settleDone: (claims, now) =>
      inTransaction(database, async (tx) => {
        for (const claim of claims) await settleDone(tx, claim, now);
        // Also where the lease had run out: whatever was out there is worthless.
        const tools = new Set(claims.map(({ tool }) => tool));
        for (const tool of tools) await invitations.renewAll(tx, tool, now);
      }),

    async settleFailed({ tool, groupId, attempts }, nextAttemptAt) {
      await inTransaction(database, (tx) =>
        tx
          .updateTable('linkReset')
          .set({ nextAttemptAt })
          .where('tool', '=', tool)
          .where('groupId', '=', groupId)
          .where('attempts', '=', attempts)
          .where('nextAttemptAt', 'is not', null)
          .execute(),
      );
    },

    async countDue(tools, now) {
      if (tools.length === 0) return 0;
      const { n } = await database.kysely
        .selectFrom('linkReset')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('tool', 'in', tools)
        .where('nextAttemptAt', '<=', now)
        .executeTakeFirstOrThrow();
      return Number(n);
    },
  };
}

async function settleDone(tx: Transaction, { tool, groupId, wanted }: ResetClaim, now: string): Promise<void> {
  await tx
    .updateTable('linkReset')
    .set((eb) => ({
      resetAt: now,
      attempts: 0,
      // Somebody was taken out meanwhile, and may know the link that there is now.
      nextAttemptAt: eb.case().when('wanted', '>', wanted).then(windowAfter(now)).else(null).end(),
    }))
    .where('tool', '=', tool)
    .where('groupId', '=', groupId)
    .execute();
  await lookAgain(tx, { tool, groupId }, now);
}

/**
 * Whoever was taken out may have come in by the link before it was worthless: they are looked for once
 * more, unless somebody else was taken out meanwhile, who has it made worthless again.
 */
async function lookAgain(
  tx: Transaction,
  { tool, groupId }: { tool: string; groupId: string },
  now: string,
): Promise<void> {
  await tx
    .updateTable('membership')
    .set((eb) => ({ nextAttemptAt: dueAgain(eb, now) }))
    .where('tool', '=', tool)
    .where('groupId', '=', groupId)
    .where('state', '=', 'removed')
    .where('memberId', 'is not', null)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('membershipAddress')
          .select('membershipAddress.id')
          .whereRef('membershipAddress.membershipId', '=', 'membership.id')
          .where('givenAt', 'is not', null)
          .where('endedAt', 'is', null),
      ),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('linkReset')
            .select('linkReset.tool')
            .where('linkReset.tool', '=', tool)
            .where('linkReset.groupId', '=', groupId)
            .where('linkReset.nextAttemptAt', 'is not', null),
        ),
      ),
    )
    .execute();
}

/**
 * Somebody was taken out who may know the link. At once where nobody waits with it; else for all who
 * are taken out until a window is over, as everybody who waits needs another.
 */
export async function wantReset(
  tx: Transaction,
  { tool, groupId }: { tool: string; groupId: string },
  now: string,
): Promise<void> {
  const last = await lastResetOf(tx, tool);
  const ends = [instantAfter(now, await windowOfWaiting(tx, tool)), ...(last === null ? [] : [windowAfter(last)])];
  const nextAttemptAt = ends.reduce((a, b) => (a > b ? a : b));
  await tx
    .insertInto('linkReset')
    .values({ tool, groupId, wanted: 1, nextAttemptAt })
    .onConflict((conflict) =>
      conflict.columns(['tool', 'groupId']).doUpdateSet((eb) => ({
        wanted: eb('linkReset.wanted', '+', 1),
        nextAttemptAt: eb.fn.coalesce('linkReset.nextAttemptAt', eb.val(nextAttemptAt)),
      })),
    )
    .execute();
}

/**
 * Whether a link that was asked for under a lease may have been made worthless before it was kept.
 * Call while the claim still has its lease.
 */
export async function isOutdated(
  { dialect }: Pick<Database, 'dialect'>,
  tx: Transaction,
  { tool, id, token }: { tool: string; id: number; token: string },
  invitation: NewInvitation | undefined,
): Promise<boolean> {
  if (invitation?.content.kind !== 'link') return false;
  const resets = tx.selectFrom('linkReset').select('resetAt').where('tool', '=', tool);
  // A reset that is being settled is waited for: it would not see this link, nor be seen by it.
  const rows = await (dialect === 'postgres' ? resets.forShare() : resets).execute();
  const lease = await tx
    .selectFrom('membership')
    .select('leasedUntil')
    .where('id', '=', id)
    .where('leaseToken', '=', token)
    .executeTakeFirst();
  if (!lease?.leasedUntil) return false;
  const askedAt = new Date(Date.parse(lease.leasedUntil) - leaseMs).toISOString();
  return rows.some(({ resetAt }) => resetAt !== null && resetAt > askedAt);
}

/** When a link of the tool was last made worthless; null where none was. */
async function lastResetOf(tx: Transaction, tool: string): Promise<string | null> {
  const { resetAt } = await tx
    .selectFrom('linkReset')
    .select((eb) => eb.fn.max('resetAt').as('resetAt'))
    .where('tool', '=', tool)
    .executeTakeFirstOrThrow();
  return resetAt;
}

/** For how long removals are gathered, by who has a link in their hands. */
async function windowOfWaiting(tx: Transaction, tool: string): Promise<number> {
  const rows = await tx
    .selectFrom('membership')
    .innerJoin('invitation', 'invitation.membershipId', 'membership.id')
    .select('deliveredBy')
    .distinct()
    .where('tool', '=', tool)
    .where('state', '=', 'invited')
    .where('wanted', '=', 1)
    .where('kind', '=', 'link')
    .execute();
  if (rows.some(({ deliveredBy }) => deliveredBy === 'operator')) return handedWindowMs;
  return rows.length === 0 ? 0 : windowMs;
}

function windowAfter(instant: string): string {
  return instantAfter(instant, windowMs);
}

function instantAfter(instant: string, ms: number): string {
  return new Date(Date.parse(instant) + ms).toISOString();
}
