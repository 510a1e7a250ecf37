import { sql } from 'kysely';
import type { Storage } from '../context.ts';
import { dropInvitations } from '../converge/invitation-store.ts';
import { clearReceiptMessages, forgetPasswords } from '../converge/receipt-store.ts';
import type { Transaction } from '../db/database.ts';
import { inParts, keyIn, onSame, upsert } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { clearContractTitles, clearPersonalData } from '../evidence/evidence-store.ts';
import { dropEndedAddresses } from '../memberships/identity-store.ts';
import { clearFailures, clearToolIds } from '../memberships/membership-store.ts';
import { forgetMailed } from '../notify/mail-store.ts';
import type { PersonContract, RetainedContract } from './retention.ts';

// The SQL of retention. It reads page by page, by key, so that no query is long.

export interface PersonKey {
  install: string;
  trainerId: string;
}

export async function pageContracts(ctx: Storage, after: ContractKey | null, limit: number): Promise<ContractKey[]> {
  let query = ctx.database.kysely
    .selectFrom('contract')
    .select(['install', 'contractId'])
    .orderBy('install')
    .orderBy('contractId')
    .limit(limit);
  if (after !== null) {
    query = query.where((eb) =>
      eb(eb.refTuple('install', 'contractId'), '>', eb.tuple(after.install, after.contractId)),
    );
  }
  return await query.execute();
}

/** Trainers whose name or address is stored. */
export async function pagePeople(ctx: Storage, after: PersonKey | null, limit: number): Promise<PersonKey[]> {
  let query = ctx.database.kysely
    .selectFrom('person')
    .select(['install', 'trainerId'])
    .where((eb) => eb.or([eb('displayName', 'is not', null), eb('workEmail', 'is not', null)]))
    .orderBy('install')
    .orderBy('trainerId')
    .limit(limit);
  if (after !== null) {
    query = query.where((eb) => eb(eb.refTuple('install', 'trainerId'), '>', eb.tuple(after.install, after.trainerId)));
  }
  return await query.execute();
}

export async function retainedContractsByKey(tx: Transaction, keys: ContractKey[]): Promise<RetainedContract[]> {
  return await tx
    .selectFrom('contract')
    .selectAll('contract')
    .select([endSeenAt.as('endSeenAt'), isUnlinked.as('isUnlinked')])
    .where(keyIn(['install', 'contractId'], keys))
    .execute();
}

/** All contracts of these trainers, in every install. */
export async function retainedContractsOf(tx: Transaction, trainerIds: string[]): Promise<PersonContract[]> {
  return await tx
    .selectFrom('participation')
    .innerJoin('contract', onSame('contract', 'participation', ['install', 'contractId']))
    .selectAll('contract')
    .select(['participation.trainerId', endSeenAt.as('endSeenAt'), isUnlinked.as('isUnlinked')])
    .where('participation.trainerId', 'in', trainerIds)
    .execute();
}

export async function retainedMembershipsOf(tx: Transaction, trainerIds: string[]): Promise<Row<'membership'>[]> {
  return await tx.selectFrom('membership').selectAll().where('trainerId', 'in', trainerIds).execute();
}

/** The installs that gave reasons for the trainer's memberships. */
export async function reasonsOfPerson(
  tx: Transaction,
  trainerId: string,
): Promise<{ membershipId: number; install: string }[]> {
  return await tx
    .selectFrom('reason')
    .innerJoin('membership', 'membership.id', 'reason.membershipId')
    .select(['reason.membershipId', 'reason.install'])
    .distinct()
    .where('membership.trainerId', '=', trainerId)
    .execute();
}

export async function forgottenOf(tx: Transaction, trainerIds: string[]): Promise<PersonKey[]> {
  const all = tx.selectFrom('forgottenPerson').select(['install', 'trainerId']);
  return await all.where('trainerId', 'in', trainerIds).execute();
}

export async function noteEnds(tx: Transaction, contracts: ContractKey[], seenAt: string): Promise<void> {
  const rows = contracts.map(({ install, contractId }) => ({ install, contractId, seenAt }));
  for (const part of inParts(rows)) {
    const insert = tx.insertInto('contractEnd').values(part);
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
  }
}

export async function dropEndNotes(tx: Transaction, contracts: ContractKey[]): Promise<void> {
  const key = ['install', 'contractId'];
  for (const part of inParts(contracts)) await tx.deleteFrom('contractEnd').where(keyIn(key, part)).execute();
}

export async function clearTitles(tx: Transaction, contracts: ContractKey[]): Promise<void> {
  for (const part of inParts(contracts)) await clearContractTitles(tx, part);
}

export async function clearPeople(tx: Transaction, people: PersonKey[]): Promise<void> {
  for (const part of inParts(people)) {
    await dropEndedAddresses(tx, part);
    await clearPersonalData(tx, part);
  }
}

/**
 * Clears what tools said about members, because it may quote a name, and invitations that nobody needs any more.
 *
 * @param forgetsIds whether the ids in the tool are cleared too: they may be addresses
 * @returns how many rows
 */
export async function clearToolTraces(tx: Transaction, membershipIds: number[], forgetsIds: boolean): Promise<number> {
  let cleared = 0;
  for (const part of inParts(membershipIds)) {
    if (forgetsIds) cleared += await clearToolIds(tx, part);
    else await clearFailures(tx, part);
    cleared += await clearReceiptMessages(tx, part);
    await forgetPasswords(tx, part);
    await forgetMailed(tx, part);
    cleared += await dropInvitations(tx, part);
  }
  return cleared;
}

export async function rememberPeople(tx: Transaction, people: PersonKey[]): Promise<void> {
  const key = ['install', 'trainerId'];
  for (const part of inParts(people)) await tx.deleteFrom('forgottenPerson').where(keyIn(key, part)).execute();
}

export async function forgetPeople(tx: Transaction, people: PersonKey[], forgottenAt: string): Promise<void> {
  const rows = people.map((person) => ({ ...person, forgottenAt }));
  await upsert(tx, 'forgottenPerson', ['install', 'trainerId'], rows);
}

const endSeenAt = sql<string | null>`(select seen_at from contract_end
  where contract_end.install = contract.install and contract_end.contract_id = contract.contract_id)`;

/** Whether all links of a contract were removed, so that no source will ever report its end. */
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
