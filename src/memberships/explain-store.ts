import type { Database } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type {
  AddressMissing,
  ContractEvidence,
  GrantEvidence,
  LinkEvidence,
  PairEvidence,
  ParticipationEvidence,
} from '../domain/evidence.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import type { Storage } from '../keys/storage.ts';

// The SQL of `gangway explain`.

/** Empty where no such trainer or contract is known. */
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
  /** By membership: the invitation, where there is one to hand over. */
  invitations: ReadonlyMap<number, KnownInvitation>;
}

export type KnownInvitation = Pick<Row<'invitation'>, 'kind' | 'deliveredAt' | 'deliveredBy'>;

export interface ExplainedPerson {
  install: string;
  trainerId: string;
  displayName: string | null;
  /** Whether a work address is known. */
  hasAddress: boolean;
  /** The domain of the work address; null if no address is known, or its domain is not. */
  workEmailDomain: string | null;
  /** Equal for equal addresses. It is not shown. */
  workEmailDigest: string | null;
  /** Why no address was there when it was last read, where that is known. */
  addressMissing: AddressMissing | null;
}

type Kysely = Database['kysely'];

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

async function loadParticipations(kysely: Kysely, box: SecretBox, subject: string): Promise<ParticipationEvidence[]> {
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
  kysely: Kysely,
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
  // Another install may have a contract of the same id, which was not asked about.
  const asked = new Set(participations.map(keyOf));
  return contracts.filter((one) => one.contractId === subject || asked.has(keyOf(one)));
}

/** What leads from these contracts to projects. Ids repeat between installs: `explain` separates them. */
async function loadPaths(kysely: Kysely, contracts: ContractEvidence[]) {
  const contractIds = distinct(contracts.map(({ contractId }) => contractId));
  const pairs = await ifAny(contractIds, () =>
    kysely.selectFrom('contractLink').selectAll().where('contractId', 'in', contractIds).orderBy('linkId').execute(),
  );
  const linkIds = distinct(pairs.map(({ linkId }) => linkId));
  const installs = distinct(contracts.map(({ install }) => install));
  return {
    pairs,
    links: await ifAny(linkIds, () => kysely.selectFrom('link').selectAll().where('linkId', 'in', linkIds).execute()),
    grants: await ifAny(installs, () =>
      kysely.selectFrom('installGrant').selectAll().where('install', 'in', installs).execute(),
    ),
  };
}

/** What is known of the trainers, and their memberships in the tools. */
async function loadMemberships(kysely: Kysely, trainerIds: string[]) {
  const memberships = await ifAny(trainerIds, () =>
    kysely.selectFrom('membership').selectAll().where('trainerId', 'in', trainerIds).orderBy('id').execute(),
  );
  const ids = memberships.map(({ id }) => id);
  return {
    memberships,
    people: await ifAny(trainerIds, () => loadPeople(kysely, trainerIds)),
    reasons: await ifAny(ids, () => kysely.selectFrom('reason').selectAll().where('membershipId', 'in', ids).execute()),
    plans: new Map(await ifAny(ids, () => loadPlans(kysely, ids))),
    invitations: new Map(await ifAny(ids, () => loadInvitations(kysely, ids))),
  };
}

async function loadPeople(kysely: Kysely, trainerIds: string[]): Promise<ExplainedPerson[]> {
  const people = await kysely
    .selectFrom('person')
    .select(['install', 'trainerId', 'displayName', 'workEmailDomain', 'workEmailDigest', 'addressMissing'])
    .where('trainerId', 'in', trainerIds)
    .execute();
  return people.map((one) => ({ ...one, hasAddress: one.workEmailDigest !== null }));
}

async function loadInvitations(kysely: Kysely, membershipIds: number[]): Promise<[number, KnownInvitation][]> {
  const invitations = await kysely
    .selectFrom('invitation')
    .select(['membershipId', 'kind', 'deliveredAt', 'deliveredBy'])
    .where('membershipId', 'in', membershipIds)
    .execute();
  return invitations.map(({ membershipId, ...invitation }) => [membershipId, invitation]);
}

async function loadPlans(kysely: Kysely, membershipIds: number[]): Promise<[number, number][]> {
  const items = await kysely
    .selectFrom('planItem')
    .innerJoin('plan', 'plan.id', 'planItem.planId')
    .innerJoin('membership', 'membership.id', 'planItem.membershipId')
    .select(['membershipId', 'planId'])
    .where('plan.state', '=', 'open')
    .where('planItem.outcome', 'is', null)
    .where('membershipId', 'in', membershipIds)
    // A plan that holds it on older evidence would be stale.
    .whereRef('membership.generation', '=', 'planItem.generation')
    .execute();
  return items.map(({ membershipId, planId }) => [membershipId, planId]);
}

/** PostgreSQL accepts no empty list. */
async function ifAny<T>(ids: readonly unknown[], load: () => Promise<T[]>): Promise<T[]> {
  return ids.length === 0 ? [] : await load();
}

function keyOf({ install, contractId }: { install: string; contractId: string }): string {
  return JSON.stringify([install, contractId]);
}

function distinct(ids: string[]): string[] {
  return [...new Set(ids)];
}
