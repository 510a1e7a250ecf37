import type { Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { credentialContext } from '../db/seal-contexts.ts';
import type { SecretBox } from '../keys/secret-box.ts';

/** The SQL of what a claim needs beside its membership: about the trainer, and about the invitation. */

/** The names that this install knows. A name is only shown. */
export async function findNames(
  tx: Transaction,
  install: string,
  rows: Row<'membership'>[],
): Promise<Map<string, string | null>> {
  if (rows.length === 0) return new Map();
  const people = await tx
    .selectFrom('person')
    .select(['trainerId', 'displayName'])
    .where('install', '=', install)
    .where(
      'trainerId',
      'in',
      rows.map((row) => row.trainerId),
    )
    .execute();
  return new Map(people.map(({ trainerId, displayName }) => [trainerId, displayName]));
}

/** The memberships whose invitation must be renewed. */
export async function findRenewals(tx: Transaction, rows: Row<'membership'>[]): Promise<Set<number>> {
  const invited = rows.filter(({ state }) => state === 'invited').map(({ id }) => id);
  if (invited.length === 0) return new Set();
  const wanted = await tx
    .selectFrom('invitation')
    .select('membershipId')
    .where('membershipId', 'in', invited)
    .where('isRenewalWanted', '=', true)
    .execute();
  return new Set(wanted.map(({ membershipId }) => membershipId));
}

/** The passwords of tries that were never settled, by membership. */
export async function findPasswords(
  tx: Transaction,
  box: SecretBox,
  rows: Row<'membership'>[],
): Promise<Map<number, string>> {
  if (rows.length === 0) return new Map();
  const intents = await tx
    .selectFrom('intent')
    .select(['membershipId', 'generation', 'credential'])
    .where(
      'membershipId',
      'in',
      rows.map(({ id }) => id),
    )
    .where('credential', 'is not', null)
    .orderBy('id')
    .execute();
  return new Map(
    intents.map(({ membershipId, generation, credential }) => {
      const context = credentialContext({ membershipId, generation });
      return [membershipId, box.open(credential ?? Buffer.of(), context).toString('utf8')];
    }),
  );
}

/** By trainer and account id: when the tool made the account, for accounts that are known to be the trainer's. */
export async function findMadeAt(
  tx: Transaction,
  tool: string,
  rows: Row<'membership'>[],
): Promise<Map<string, Map<string, string>>> {
  const ids = rows.flatMap(({ memberId, doubtedId }) => [memberId ?? [], doubtedId ?? []].flat());
  if (ids.length === 0) return new Map();
  const accounts = await tx
    .selectFrom('account')
    .select(['accountId', 'trainerId', 'madeAt'])
    .where('tool', '=', tool)
    .where('accountId', 'in', ids)
    .execute();
  const found = new Map<string, Map<string, string>>();
  for (const { accountId, trainerId, madeAt } of accounts) {
    if (trainerId === null || madeAt === null) continue;
    found.set(trainerId, (found.get(trainerId) ?? new Map()).set(accountId, madeAt));
  }
  return found;
}
