import type { Storage } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type {
  ContractEvidence,
  GrantEvidence,
  LinkEvidence,
  PairEvidence,
  ParticipationEvidence,
} from '../domain/evidence.ts';
import type { SecretBox } from '../keys/secret-box.ts';

// The SQL of `gangway explain`.

/** All records about a trainer or a contract. Empty if neither is known. */
export interface Bearing {
  contracts: ContractEvidence[];
  participations: ParticipationEvidence[];
  pairs: PairEvidence[];
  links: LinkEvidence[];
  grants: GrantEvidence[];
  people: ExplainedPerson[];
  memberships: Row<'membership'>[];
  /** The recorded reasons of these memberships, whatever the configuration says now. */
  reasons: Omit<Row<'reason'>, 'recordedAt'>[];
  /** By membership: the open plan that holds its removal. */
  plans: ReadonlyMap<number, number>;
  /** By membership: its invitation, if there is one to deliver. */
  invitations: ReadonlyMap<number, KnownInvitation>;
}

export type KnownInvitation = Pick<Row<'invitation'>, 'kind' | 'deliveredAt' | 'deliveredBy'>;

/** With the digest of the work email, to compare addresses without showing them. */
export interface ExplainedPerson
  extends Pick<
    Row<'person'>,
    'install' | 'trainerId' | 'displayName' | 'workEmailDomain' | 'workEmailDigest' | 'addressMissing'
  > {
  /** Whether a work address is known. */
  hasAddress: boolean;
}

/** Everything about a trainer, by id or work address, or about a contract, by id. */
export async function loadBearing(ctx: Storage, subject: string): Promise<Bearing> {
  const participations = await loadParticipations(ctx.database.kysely, ctx.box, subject);
  const trainerIds = distinct(participations.map(({ trainerId }) => trainerId));
  const contracts = await loadContracts(ctx.database.kysely, subject, participations);
  return {
    contracts,
    participations,
    ...(await loadPaths(ctx.database.kysely, contracts)),
    ...(await loadMemberships(ctx.database.kysely, trainerIds)),
  };
}

async function loadParticipations(
  kysely: Transaction,
  box: SecretBox,
  subject: string,
): Promise<ParticipationEvidence[]> {
  const digest = box.digest(subject.trim().toLowerCase());
  return await kysely
    .selectFrom('participation')
    .selectAll()
    .where((eb) =>
      eb.or([
        eb('contractId', '=', subject),
        eb('trainerId', '=', subject),
        eb('trainerId', 'in', eb.selectFrom('person').select('trainerId').where('workEmailDigest', '=', digest)),
      ]),
    )
    .orderBy('install')
    .orderBy('contractId')
    .orderBy('trainerId')
    .execute();
}

async function loadContracts(
  kysely: Transaction,
  subject: string,
  participations: ParticipationEvidence[],
): Promise<ContractEvidence[]> {
  const contractIds = distinct([subject, ...participations.map((one) => one.contractId)]);
  const contracts = await kysely
    .selectFrom('contract')
    .selectAll()
    .where('contractId', 'in', contractIds)
    .orderBy('install')
    .orderBy('contractId')
    .execute();
  // Another install may have a contract with the same id.
  const asked = new Set(participations.map(keyOf));
  return contracts.filter((one) => one.contractId === subject || asked.has(keyOf(one)));
}

/** What leads from these contracts to projects. Installs may use the same ids, and `explain` separates them. */
async function loadPaths(kysely: Transaction, contracts: ContractEvidence[]) {
  const contractIds = distinct(contracts.map(({ contractId }) => contractId));
  const pairs = kysely.selectFrom('contractLink').selectAll().where('contractId', 'in', contractIds);
  const found = await pairs.orderBy('linkId').execute();
  const linkIds = distinct(found.map(({ linkId }) => linkId));
  const installs = distinct(contracts.map(({ install }) => install));
  return {
    pairs: found,
    links: await kysely.selectFrom('link').selectAll().where('linkId', 'in', linkIds).execute(),
    grants: await kysely.selectFrom('installGrant').selectAll().where('install', 'in', installs).execute(),
  };
}

async function loadMemberships(kysely: Transaction, trainerIds: string[]) {
  const all = kysely.selectFrom('membership').selectAll().where('trainerId', 'in', trainerIds);
  const memberships = await all.orderBy('id').execute();
  const ids = memberships.map(({ id }) => id);
  return {
    memberships,
    people: await loadPeople(kysely, trainerIds),
    reasons: await kysely.selectFrom('reason').selectAll().where('membershipId', 'in', ids).execute(),
    plans: new Map(await loadPlans(kysely, ids)),
    invitations: new Map(await loadInvitations(kysely, ids)),
  };
}

async function loadPeople(kysely: Transaction, trainerIds: string[]): Promise<ExplainedPerson[]> {
  const people = await kysely
    .selectFrom('person')
    .select(['install', 'trainerId', 'displayName', 'workEmailDomain', 'workEmailDigest', 'addressMissing'])
    .where('trainerId', 'in', trainerIds)
    .execute();
  return people.map((one) => ({ ...one, hasAddress: one.workEmailDigest !== null }));
}

async function loadInvitations(kysely: Transaction, membershipIds: number[]): Promise<[number, KnownInvitation][]> {
  const invitations = await kysely
    .selectFrom('invitation')
    .select(['membershipId', 'kind', 'deliveredAt', 'deliveredBy'])
    .where('membershipId', 'in', membershipIds)
    .execute();
  return invitations.map(({ membershipId, ...invitation }) => [membershipId, invitation]);
}

async function loadPlans(kysely: Transaction, membershipIds: number[]): Promise<[number, number][]> {
  const items = await kysely
    .selectFrom('planItem')
    .innerJoin('plan', 'plan.id', 'planItem.planId')
    .innerJoin('membership', 'membership.id', 'planItem.membershipId')
    .select(['membershipId', 'planId'])
    .where('plan.state', '=', 'open')
    .where('planItem.outcome', 'is', null)
    .where('membershipId', 'in', membershipIds)
    // Otherwise the item of the plan is stale.
    .whereRef('membership.generation', '=', 'planItem.generation')
    .execute();
  return items.map(({ membershipId, planId }) => [membershipId, planId]);
}

function keyOf({ install, contractId }: { install: string; contractId: string }): string {
  return JSON.stringify([install, contractId]);
}

function distinct(ids: string[]): string[] {
  return [...new Set(ids)];
}
