import type { Transaction } from '../db/database.ts';
import { inParts, keyIn } from '../db/query.ts';
import type { ContractKey } from '../domain/evidence.ts';

/** The SQL of clearing what evidence names people by: their names and addresses, and titles of contracts. */

interface PersonKey {
  install: string;
  trainerId: string;
}

const noPerson = {
  displayName: null,
  displayNameVersion: null,
  workEmail: null,
  workEmailVersion: null,
  addressMissing: null,
  addressMissingVersion: null,
  workEmailDigest: null,
  workEmailDomain: null,
};

/** @returns how many had one */
export async function clearContractTitles(tx: Transaction, contracts: readonly ContractKey[]): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('contract')
    .set({ title: null, titleVersion: null })
    .where('title', 'is not', null)
    .where(keyIn(['install', 'contractId'], contracts))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/**
 * Who is on their contracts is asked again where one of these turns out to go on: only the answer has their address.
 *
 * @returns how many had something
 */
export async function clearPersonalData(tx: Transaction, people: readonly PersonKey[]): Promise<number> {
  const contracts = await tx
    .selectFrom('participation')
    .select(['install', 'contractId'])
    .distinct()
    .where(keyIn(['install', 'trainerId'], people))
    .execute();
  for (const part of inParts(contracts)) {
    await tx
      .updateTable('contract')
      .set({ participantsReadAt: null })
      .where('participantsReadAt', 'is not', null)
      .where(keyIn(['install', 'contractId'], part))
      .execute();
  }
  const { numUpdatedRows } = await tx
    .updateTable('person')
    .set(noPerson)
    .where((eb) => eb.or([eb('displayName', 'is not', null), eb('workEmail', 'is not', null)]))
    .where(keyIn(['install', 'trainerId'], people))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
