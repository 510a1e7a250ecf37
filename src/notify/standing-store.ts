import type { Database } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type { NotifiedBudgetState } from '../domain/budget.ts';
import type { ContractEvidence, LinkEvidence } from '../domain/evidence.ts';
import type { UsageTroubleKind } from '../domain/usage.ts';

/** The SQL that asks whether the trouble of an alert still stands. It only reads. */
export interface StandingStore {
  isPlanOpen(plan: number): Promise<boolean>;
  contract(install: string, contractId: string): Promise<ContractEvidence | undefined>;
  link(install: string, linkId: string): Promise<LinkEvidence | undefined>;
  membership(id: number): Promise<Standing | undefined>;
  /** Whether a call or a look let the trainer in after `since`, in the current generation. */
  wasAddedAfter(membership: number, since: string): Promise<boolean>;
  isToolTroubled(tool: string): Promise<boolean>;
  /** Whether the last try to read an install failed. */
  isUnread(install: string): Promise<boolean>;
  /** Whether the last try to read the feed of the account that the install is bound to failed. */
  isFeedFailing(install: string): Promise<boolean>;
  isEndpointTroubled(install: string): Promise<boolean>;
  /** Whether installs have accesses of one trainer in one tool under different addresses. */
  doAddressesDiffer(tool: string, trainerId: string): Promise<boolean>;
  /** Whether a mail was refused, and the invitation was neither mailed nor handed over since. */
  isMailRefused(membership: number): Promise<boolean>;
  isScopeFailing(tool: string, scope: string): Promise<boolean>;
  /** The guidelines of a project, as the last look found them. */
  guideline(tool: string, project: string): Promise<StandingGuideline | undefined>;
  /** Whether the last try to read the manuals of an install failed, and one has been due since then. */
  areManualsUnread(install: string, since: string): Promise<boolean>;
  hasUsageTrouble(install: string, kind: UsageTroubleKind): Promise<boolean>;
  /** Whether the last notice about the budget of an active contract was of this state. */
  isBudget(install: string, contractId: string, state: NotifiedBudgetState): Promise<boolean>;
  /** @param paymentId any by default */
  isPaymentWaiting(install: string, paymentId?: string): Promise<boolean>;
}

export type StandingGuideline = Pick<Row<'guideline'>, 'install' | 'state' | 'failures' | 'lookedAt'>;

export type Standing = Pick<Row<'membership'>, 'wanted' | 'state' | 'doubtedId'>;

export function createStandingStore({ kysely }: Pick<Database, 'kysely'>): StandingStore {
  return { ...createEvidenceQuestions(kysely), ...createWorkQuestions(kysely) };
}

function createEvidenceQuestions(
  kysely: Database['kysely'],
): Pick<StandingStore, 'contract' | 'link' | 'membership' | 'wasAddedAfter' | 'doAddressesDiffer' | 'isMailRefused'> {
  return {
    contract: (install, contractId) =>
      kysely
        .selectFrom('contract')
        .selectAll()
        .where('install', '=', install)
        .where('contractId', '=', contractId)
        .executeTakeFirst(),

    link: (install, linkId) =>
      kysely
        .selectFrom('link')
        .selectAll()
        .where('install', '=', install)
        .where('linkId', '=', linkId)
        .executeTakeFirst(),

    membership: (id) =>
      kysely.selectFrom('membership').select(['wanted', 'state', 'doubtedId']).where('id', '=', id).executeTakeFirst(),

    async wasAddedAfter(membership, since) {
      const receipt = kysely
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
    },

    async doAddressesDiffer(tool, trainerId) {
      const accesses = await kysely
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
    },

    async isMailRefused(membership) {
      const refused = kysely
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
    },
  };
}

function createWorkQuestions(
  kysely: Database['kysely'],
): Omit<StandingStore, keyof ReturnType<typeof createEvidenceQuestions>> {
  return {
    async isPlanOpen(plan) {
      const open = kysely.selectFrom('plan').select('id').where('id', '=', plan).where('state', '=', 'open');
      return (await open.executeTakeFirst()) !== undefined;
    },

    async isToolTroubled(tool) {
      const trouble = kysely.selectFrom('toolTrouble').select('tool').where('tool', '=', tool);
      return (await trouble.executeTakeFirst()) !== undefined;
    },

    async isUnread(install) {
      const state = kysely.selectFrom('installState').select('failure').where('install', '=', install);
      return ((await state.executeTakeFirst())?.failure ?? null) !== null;
    },

    async isFeedFailing(install) {
      const feed = kysely
        .selectFrom('feed')
        .innerJoin('installBinding', (join) =>
          join
            .onRef('installBinding.install', '=', 'feed.install')
            .onRef('installBinding.grantId', '=', 'feed.grantId'),
        )
        .select('feed.install')
        .where('feed.install', '=', install)
        .where('failingSince', 'is not', null);
      return (await feed.executeTakeFirst()) !== undefined;
    },

    async isEndpointTroubled(install) {
      const subscription = kysely.selectFrom('subscription').select('trouble').where('install', '=', install);
      return ((await subscription.executeTakeFirst())?.trouble ?? null) !== null;
    },

    async isScopeFailing(tool, scope) {
      const failing = kysely
        .selectFrom('usageScope')
        .select('scope')
        .where('tool', '=', tool)
        .where('scope', '=', scope)
        .where('failingSince', 'is not', null);
      return (await failing.executeTakeFirst()) !== undefined;
    },

    guideline: (tool, project) =>
      kysely
        .selectFrom('guideline')
        .select(['install', 'state', 'failures', 'lookedAt'])
        .where('tool', '=', tool)
        .where('project', '=', project)
        .executeTakeFirst(),

    async areManualsUnread(install, since) {
      const failed = kysely
        .selectFrom('guidelineReading')
        .select('install')
        .where('install', '=', install)
        .where('failure', 'is not', null)
        .where('nextReadAt', '>', since);
      return (await failed.executeTakeFirst()) !== undefined;
    },

    async hasUsageTrouble(install, kind) {
      const trouble = kysely
        .selectFrom('usageTrouble')
        .select('work')
        .where('install', '=', install)
        .where('kind', '=', kind)
        .limit(1);
      return (await trouble.executeTakeFirst()) !== undefined;
    },

    async isBudget(install, contractId, state) {
      const budget = kysely
        .selectFrom('budget')
        .select('notifiedState')
        .where('install', '=', install)
        .where('contractId', '=', contractId)
        .where('nextReadAt', 'is not', null);
      return (await budget.executeTakeFirst())?.notifiedState === state;
    },

    async isPaymentWaiting(install, paymentId) {
      let waiting = kysely.selectFrom('pendingPayment').select('paymentId').where('install', '=', install).limit(1);
      if (paymentId !== undefined) waiting = waiting.where('paymentId', '=', paymentId);
      return (await waiting.executeTakeFirst()) !== undefined;
    },
  };
}
