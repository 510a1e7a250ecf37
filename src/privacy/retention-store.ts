import { sql } from 'kysely';
import { forgetPasswords } from '../converge/intent-store.ts';
import { dropInvitations } from '../converge/invitation-store.ts';
import { clearReceiptMessages } from '../converge/receipt-store.ts';
import type { Transaction } from '../db/database.ts';
import { keyIn, onSame } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { clearContractTitles, clearPersonalData } from '../evidence/evidence-store.ts';
import type { Storage } from '../keys/storage.ts';
import { forgetMailed } from '../mail/mail-count-store.ts';
import { dropEndedAddresses } from '../memberships/address-store.ts';
import { clearFailures, clearToolIds } from '../memberships/membership-store.ts';
import type { PersonContract, RetainedContract } from './retention.ts';

// The only SQL of how long data is kept. It reads page by page, by key, so that no query is long.

export interface PersonKey {
  install: string;
  trainerId: string;
}

/** Contracts with something to note or to clear. */
export async function pageRetainedContracts(
  ctx: Storage,
  after: ContractKey | null,
  limit: number,
): Promise<ContractKey[]> {
  let query = ctx.database.kysely
    .selectFrom('contract')
    .select(['install', 'contractId'])
    .orderBy('install')
    .orderBy('contractId')
    .limit(limit);
  if (after !== null) {
    const { install, contractId } = after;
    query = query.where((eb) => eb(eb.refTuple('install', 'contractId'), '>', eb.tuple(install, contractId)));
  }
  return await query.execute();
}

/** Trainers with personal data. */
export async function pageRetainedPeople(ctx: Storage, after: PersonKey | null, limit: number): Promise<PersonKey[]> {
  let query = ctx.database.kysely
    .selectFrom('person')
    .select(['install', 'trainerId'])
    .where((eb) => eb.or([eb('displayName', 'is not', null), eb('workEmail', 'is not', null)]))
    .orderBy('install')
    .orderBy('trainerId')
    .limit(limit);
  if (after !== null) {
    const { install, trainerId } = after;
    query = query.where((eb) => eb(eb.refTuple('install', 'trainerId'), '>', eb.tuple(install, trainerId)));
  }
  return await query.execute();
}

export async function retainedContractsByKey(tx: Transaction, keys: ContractKey[]): Promise<RetainedContract[]> {
  if (keys.length === 0) return [];
  return await tx
    .selectFrom('contract')
    .selectAll('contract')
    .select([endSeenAt.as('endSeenAt'), isUnlinked.as('isUnlinked')])
    .where(keyIn(['install', 'contractId'], keys))
    .execute();
}

/** All contracts and memberships of these trainers, in every install. */
export async function retainedContractsOf(tx: Transaction, trainerIds: string[]): Promise<PersonContract[]> {
  if (trainerIds.length === 0) return [];
  return await tx
    .selectFrom('participation')
    .innerJoin('contract', onSame('contract', 'participation', ['install', 'contractId']))
    .selectAll('contract')
    .select(['participation.trainerId', endSeenAt.as('endSeenAt'), isUnlinked.as('isUnlinked')])
    .where('participation.trainerId', 'in', trainerIds)
    .execute();
}

export async function retainedMembershipsOf(tx: Transaction, trainerIds: string[]): Promise<Row<'membership'>[]> {
  return trainerIds.length === 0
    ? []
    : await tx.selectFrom('membership').selectAll().where('trainerId', 'in', trainerIds).execute();
}

/** The reasons of these memberships, with the install of each. */
export async function retainedReasonsOf(
  tx: Transaction,
  membershipIds: number[],
): Promise<{ membershipId: number; install: string }[]> {
  return membershipIds.length === 0
    ? []
    : await tx
        .selectFrom('reason')
        .select(['membershipId', 'install'])
        .distinct()
        .where('membershipId', 'in', membershipIds)
        .execute();
}

export async function forgottenOf(tx: Transaction, trainerIds: string[]): Promise<PersonKey[]> {
  return trainerIds.length === 0
    ? []
    : await tx
        .selectFrom('forgottenPerson')
        .select(['install', 'trainerId'])
        .where('trainerId', 'in', trainerIds)
        .execute();
}

export async function noteEnds(tx: Transaction, contracts: ContractKey[], seenAt: string): Promise<void> {
  if (contracts.length === 0) return;
  const rows = contracts.map(({ install, contractId }) => ({ install, contractId, seenAt }));
  await tx
    .insertInto('contractEnd')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function dropEndNotes(tx: Transaction, contracts: ContractKey[]): Promise<void> {
  if (contracts.length === 0) return;
  await tx
    .deleteFrom('contractEnd')
    .where(keyIn(['install', 'contractId'], contracts))
    .execute();
}

/** @returns how many had one */
export async function clearTitles(tx: Transaction, contracts: ContractKey[]): Promise<number> {
  if (contracts.length === 0) return 0;
  return await clearContractTitles(tx, contracts);
}

/** @returns how many had something */
export async function clearPeople(tx: Transaction, people: PersonKey[]): Promise<number> {
  if (people.length === 0) return 0;
  await dropEndedAddresses(tx, people);
  return await clearPersonalData(tx, people);
}

/** What tools have said about the trainers, which may quote a name. */
export async function clearMessages(tx: Transaction, membershipIds: number[]): Promise<void> {
  if (membershipIds.length === 0) return;
  await clearFailures(tx, membershipIds);
  await clearReceiptMessages(tx, membershipIds);
}

/** Invitations that will not be handed over any more. @returns how many */
export async function clearInvitations(tx: Transaction, membershipIds: number[]): Promise<number> {
  if (membershipIds.length === 0) return 0;
  await forgetPasswords(tx, membershipIds);
  await forgetMailed(tx, membershipIds);
  return await dropInvitations(tx, membershipIds);
}

export async function rememberPeople(tx: Transaction, people: PersonKey[]): Promise<void> {
  if (people.length === 0) return;
  await tx
    .deleteFrom('forgottenPerson')
    .where(keyIn(['install', 'trainerId'], people))
    .execute();
}

export async function forgetPeople(tx: Transaction, people: PersonKey[], forgottenAt: string): Promise<void> {
  if (people.length === 0) return;
  await tx
    .insertInto('forgottenPerson')
    .values(people.map(({ install, trainerId }) => ({ install, trainerId, forgottenAt })))
    .onConflict((conflict) => conflict.columns(['install', 'trainerId']).doUpdateSet({ forgottenAt }))
    .execute();
}

const endSeenAt = sql<string | null>`(select seen_at from contract_end
  where contract_end.install = contract.install and contract_end.contract_id = contract.contract_id)`;

/** All of its links were removed: no source will ever report its end. */
const isUnlinked = sql<number | boolean>`(
  exists (select 1 from contract_link as pair
    where pair.install = contract.install and pair.contract_id = contract.contract_id)
  and not exists (select 1 from contract_link as pair
    join link on link.install = pair.install and link.link_id = pair.link_id
    where pair.install = contract.install and pair.contract_id = contract.contract_id
      and link.removed_event_at is null))`;

/** The trainers with this address digest, in one install or in any. */
export async function findPeopleByDigest(ctx: Storage, digest: string, install?: string): Promise<string[]> {
  let query = ctx.database.kysely
    .selectFrom('person')
    .select('trainerId')
    .distinct()
    .where('workEmailDigest', '=', digest);
  if (install !== undefined) query = query.where('install', '=', install);
  const rows = await query.orderBy('trainerId').execute();
  return rows.map(({ trainerId }) => trainerId);
}

/** Whether anything is or was known of a trainer. */
export async function isPersonKnown(ctx: Storage, trainerId: string): Promise<boolean> {
  for (const table of ['participation', 'person', 'membership'] as const) {
    const row = await ctx.database.kysely
      .selectFrom(table)
      .select('trainerId')
      .where('trainerId', '=', trainerId)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return true;
  }
  return false;
}

export function peopleOf(tx: Transaction, trainerId: string): Promise<Row<'person'>[]> {
  return tx.selectFrom('person').selectAll().where('trainerId', '=', trainerId).execute();
}

/** Every install that ever named the trainer. */
export async function installsOfPerson(tx: Transaction, trainerId: string): Promise<string[]> {
  const reasons = tx
    .selectFrom('reason')
    .innerJoin('membership', 'membership.id', 'reason.membershipId')
    .select('reason.install')
    .where('trainerId', '=', trainerId);
  const rows = await tx
    .selectFrom('participation')
    .select('install')
    .where('trainerId', '=', trainerId)
    .union(tx.selectFrom('person').select('install').where('trainerId', '=', trainerId))
    .union(tx.selectFrom('membership').select('install').where('trainerId', '=', trainerId))
    .union(reasons)
    .execute();
  return rows.map(({ install }) => install).sort();
}

/** Clears what tools have said of members: their ids in the tool, which may be addresses, and messages. @returns how many rows */
export async function clearToolTraces(tx: Transaction, membershipIds: number[]): Promise<number> {
  if (membershipIds.length === 0) return 0;
  return (await clearToolIds(tx, membershipIds)) + (await clearReceiptMessages(tx, membershipIds));
}
