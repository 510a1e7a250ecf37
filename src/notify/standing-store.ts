import type { Row } from '../db/schema.ts';
import type { NotifiedBudgetState } from '../domain/budget.ts';
import type { ContractEvidence, LinkEvidence } from '../domain/evidence.ts';
import type { Storage } from '../keys/storage.ts';

// The SQL that asks whether the trouble of an alert still stands. It only reads.

export type Standing = Pick<Row<'membership'>, 'wanted' | 'state' | 'doubtedId'>;

export function standingContract(
  ctx: Storage,
  install: string,
  contractId: string,
): Promise<ContractEvidence | undefined> {
  return ctx.database.kysely
    .selectFrom('contract')
    .selectAll()
    .where('install', '=', install)
    .where('contractId', '=', contractId)
    .executeTakeFirst();
}

export function standingLink(ctx: Storage, install: string, linkId: string): Promise<LinkEvidence | undefined> {
  return ctx.database.kysely
    .selectFrom('link')
    .selectAll()
    .where('install', '=', install)
    .where('linkId', '=', linkId)
    .executeTakeFirst();
}

export function standingMembership(ctx: Storage, id: number): Promise<Standing | undefined> {
  return ctx.database.kysely
    .selectFrom('membership')
    .select(['wanted', 'state', 'doubtedId'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Whether a call or a look let the trainer in after `since`, in the current generation. */
export async function wasAddedAfter(ctx: Storage, membership: number, since: string): Promise<boolean> {
  const receipt = ctx.database.kysely
    .selectFrom('receipt')
    .innerJoin('membership', (join) =>
      join
        .onRef('membership.id', '=', 'receipt.membershipId')
        .onRef('membership.generation', '=', 'receipt.generation'),
    )
    .select('receipt.id')
    .where('membershipId', '=', membership)
    .where('outcome', 'in', ['added', 'invited'])
    .where('createdAt', '>', since)
    .limit(1);
  return (await receipt.executeTakeFirst()) !== undefined;
}

/** Whether installs have accesses of one trainer in one tool under different addresses. */
export async function doAddressesDiffer(ctx: Storage, tool: string, trainerId: string): Promise<boolean> {
  const accesses = await ctx.database.kysely
    .selectFrom('membership')
    .innerJoin('membershipAddress', 'membershipAddress.membershipId', 'membership.id')
    .select(['membership.install', 'workEmailDigest'])
    .where('tool', '=', tool)
    .where('membership.trainerId', '=', trainerId)
    .where('wanted', '=', true)
    .where('isCurrent', '=', true)
    .execute();
  const [installs, addresses] = [new Set(), new Set()];
  for (const { install, workEmailDigest } of accesses) {
    installs.add(install);
    addresses.add(workEmailDigest);
  }
  return installs.size > 1 && addresses.size > 1;
}

/** Whether a mail was refused, and the invitation was neither mailed nor handed over since. */
export async function isMailRefused(ctx: Storage, membership: number): Promise<boolean> {
  const refused = ctx.database.kysely
    .selectFrom('invitation')
    .innerJoin('membership', 'membership.id', 'invitation.membershipId')
    .select('membershipId')
    .where('membershipId', '=', membership)
    .where('invitation.failure', 'is not', null)
    .where('invitation.nextAttemptAt', 'is', null)
    .where('deliveredAt', 'is', null)
    .where('wanted', '=', true)
    .where('state', 'in', ['invited', 'active']);
  return (await refused.executeTakeFirst()) !== undefined;
}

export async function isPlanOpen(ctx: Storage, plan: number): Promise<boolean> {
  const open = ctx.database.kysely.selectFrom('plan').select('id').where('id', '=', plan).where('state', '=', 'open');
  return (await open.executeTakeFirst()) !== undefined;
}

export async function isToolTroubled(ctx: Storage, tool: string): Promise<boolean> {
  const trouble = ctx.database.kysely.selectFrom('toolTrouble').select('tool').where('tool', '=', tool);
  return (await trouble.executeTakeFirst()) !== undefined;
}

/** Whether the last try to read an install failed. */
export async function isReadingFailing(ctx: Storage, install: string): Promise<boolean> {
  const state = ctx.database.kysely.selectFrom('installState').select('failure').where('install', '=', install);
  return ((await state.executeTakeFirst())?.failure ?? null) !== null;
}

/** Whether the last try to read the feed of the account that the install is bound to failed. */
export async function isFeedFailing(ctx: Storage, install: string): Promise<boolean> {
  const feed = ctx.database.kysely
    .selectFrom('feed')
    .innerJoin('installBinding', (join) =>
      join.onRef('installBinding.install', '=', 'feed.install').onRef('installBinding.grantId', '=', 'feed.grantId'),
    )
    .select('feed.install')
    .where('feed.install', '=', install)
    .where('failingSince', 'is not', null);
  return (await feed.executeTakeFirst()) !== undefined;
}

export async function isEndpointTroubled(ctx: Storage, install: string): Promise<boolean> {
  const subscription = ctx.database.kysely.selectFrom('subscription').select('trouble').where('install', '=', install);
  return ((await subscription.executeTakeFirst())?.trouble ?? null) !== null;
}

export async function isScopeFailing(ctx: Storage, tool: string, scope: string): Promise<boolean> {
  const failing = ctx.database.kysely
    .selectFrom('usageScope')
    .select('scope')
    .where('tool', '=', tool)
    .where('scope', '=', scope)
    .where('failingSince', 'is not', null);
  return (await failing.executeTakeFirst()) !== undefined;
}

/** Whether the last try to read the manuals of an install failed, and one has been due since then. */
export async function areManualsUnread(ctx: Storage, install: string, since: string): Promise<boolean> {
  const failed = ctx.database.kysely
    .selectFrom('guidelineReading')
    .select('install')
    .where('install', '=', install)
    .where('failure', 'is not', null)
    .where('nextReadAt', '>', since);
  return (await failed.executeTakeFirst()) !== undefined;
}

/** Whether the last notice about the budget of an active contract was of this state. */
export async function isBudgetNotified(
  ctx: Storage,
  install: string,
  contractId: string,
  state: NotifiedBudgetState,
): Promise<boolean> {
  const budget = ctx.database.kysely
    .selectFrom('budget')
    .select('notifiedState')
    .where('install', '=', install)
    .where('contractId', '=', contractId)
    .where('nextReadAt', 'is not', null);
  return (await budget.executeTakeFirst())?.notifiedState === state;
}

/** @param paymentId any by default */
export async function isPaymentPending(ctx: Storage, install: string, paymentId?: string): Promise<boolean> {
  let waiting = ctx.database.kysely
    .selectFrom('pendingPayment')
    .select('paymentId')
    .where('install', '=', install)
    .limit(1);
  if (paymentId !== undefined) waiting = waiting.where('paymentId', '=', paymentId);
  return (await waiting.executeTakeFirst()) !== undefined;
}
