import type { Transaction } from '../db/database.ts';
import type { MembershipRow } from '../db/tables.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { workEmailPlace } from './evidence-store.ts';
import { credentialPlace } from './invitation-store.ts';

/** The SQL of what a claim has to know beside its membership: about the person, and how they get in. */

export interface KnownPerson {
  email: string | null;
  displayName: string | null;
}

/** As this install knows them: what one customer consented to is not for another's project. */
export async function findPeople(
  tx: Transaction,
  box: SecretBox,
  install: string,
  rows: MembershipRow[],
): Promise<Map<string, KnownPerson>> {
  if (rows.length === 0) return new Map();
  const people = await tx
    .selectFrom('person')
    .select(['trainerId', 'displayName', 'workEmail'])
    .where('install', '=', install)
    .where(
      'trainerId',
      'in',
      rows.map((row) => row.trainerId),
    )
    .execute();
  return new Map(
    people.map((person) => [person.trainerId, openPerson(box, { install, ...person })]),
  );
}

/**
 * Who is to be taken out is searched for by the address they came in by: that of any install that
 * was a reason for the membership, though the last of them may never have been given one.
 */
export async function findLeaving(
  tx: Transaction,
  box: SecretBox,
  rows: MembershipRow[],
): Promise<Map<number, KnownPerson>> {
  const leaving = rows.filter(({ wanted }) => wanted === 0);
  if (leaving.length === 0) return new Map();
  const people = await tx
    .selectFrom('membership')
    .innerJoin('reason', 'reason.membershipId', 'membership.id')
    .innerJoin('person', (join) =>
      join
        .onRef('person.install', '=', 'reason.install')
        .onRef('person.trainerId', '=', 'membership.trainerId'),
    )
    .select(['id', 'person.install', 'person.trainerId', 'displayName', 'workEmail'])
    .where(
      'id',
      'in',
      leaving.map(({ id }) => id),
    )
    .where('workEmail', 'is not', null)
    .orderBy('person.install')
    .execute();
  return new Map(people.map(({ id, ...person }) => [id, openPerson(box, person)]));
}

/** Whose invitation is to be made anew. */
export async function findRenewals(tx: Transaction, rows: MembershipRow[]): Promise<Set<number>> {
  const invited = rows.filter(({ state }) => state === 'invited').map(({ id }) => id);
  if (invited.length === 0) return new Set();
  const wanted = await tx
    .selectFrom('invitation')
    .select('membershipId')
    .where('membershipId', 'in', invited)
    .where('isRenewalWanted', '=', 1)
    .execute();
  return new Set(wanted.map(({ membershipId }) => membershipId));
}

/** The passwords of tries that were never settled, by membership. */
export async function findPasswords(
  tx: Transaction,
  box: SecretBox,
  rows: MembershipRow[],
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
      const place = credentialPlace(membershipId, generation);
      return [membershipId, box.open(credential ?? Buffer.of(), place).toString('utf8')];
    }),
  );
}

interface SealedPerson {
  install: string;
  trainerId: string;
  displayName: string | null;
  workEmail: Buffer | null;
}

export function openPerson(
  box: SecretBox,
  { workEmail, displayName, ...key }: SealedPerson,
): KnownPerson {
  const email =
    workEmail === null ? null : box.open(workEmail, workEmailPlace(key)).toString('utf8');
  return { email, displayName };
}
