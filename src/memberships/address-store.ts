import type { ExpressionBuilder, ExpressionWrapper, SqlBool } from 'kysely';
import type { Storage } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { keyIn } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import { workEmailContext } from '../db/seal-contexts.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import type { SecretBox } from '../keys/secret-box.ts';

// The only SQL about addresses: which address each install knows for a trainer, and under which addresses a membership
// was given. The store returns addresses as plain text in lower case.

/** Records that no access under the addresses of a membership comes from us any more. */
export async function endGivenAddresses(tx: Transaction, membershipId: number, now: string): Promise<void> {
  await tx
    .updateTable('membershipAddress')
    .set({ endedAt: now })
    .where('membershipId', '=', membershipId)
    .where('givenAt', 'is not', null)
    .where('endedAt', 'is', null)
    .execute();
}

/** Records access under an address that an operator named, and no install. */
export async function addGivenAddress(
  tx: Transaction,
  box: SecretBox,
  { address, ...of }: { membershipId: number; address: string } & PersonKey,
  now: string,
): Promise<void> {
  const workEmail = box.seal(Buffer.from(address), workEmailContext(of));
  const workEmailDigest = box.digest(address.toLowerCase());
  const sealed = { workEmail, workEmailDigest, workEmailDomain: domainOf(address) };
  await tx
    .insertInto('membershipAddress')
    .values({ ...of, ...sealed, isCurrent: false, givenAt: now })
    .execute();
}

/** The addresses of the membership that is being read or written. */
export function addressOf(eb: ExpressionBuilder<Tables, 'membership'>) {
  return eb
    .selectFrom('membershipAddress')
    .select('membershipAddress.id')
    .whereRef('membershipAddress.membershipId', '=', 'membership.id');
}

/** Whether the trainer is in the tool under an address that may be mailed. */
export function isReachable(
  eb: ExpressionBuilder<Tables, 'membership'>,
  managedDomains: readonly string[],
): ExpressionWrapper<Tables, 'membership', SqlBool> {
  let address = addressOf(eb).where('isCurrent', '=', true);
  if (managedDomains.length > 0) address = address.where('workEmailDomain', 'in', managedDomains);
  return eb.exists(address);
}

export async function updateAddress(
  tx: Transaction,
  id: number,
  values: Partial<Pick<Row<'membershipAddress'>, 'isCurrent' | 'givenAt' | 'endedAt' | 'wasAbsent'>>,
): Promise<void> {
  await tx.updateTable('membershipAddress').set(values).where('id', '=', id).execute();
}

/** A tool that refused has not made an account. An account that exists later was made by others. */
export async function forgetAbsence(tx: Transaction, membershipId: number): Promise<void> {
  await tx
    .updateTable('membershipAddress')
    .set({ wasAbsent: null })
    .where('membershipId', '=', membershipId)
    .where('endedAt', 'is', null)
    .execute();
}

/** Deletes the addresses of memberships that have ended. Those that a removal still needs stay. */
export async function dropEndedAddresses(tx: Transaction, people: readonly PersonKey[]): Promise<void> {
  await tx
    .deleteFrom('membershipAddress')
    .where(keyIn(['install', 'trainerId'], people))
    .where('membershipId', 'in', (eb) =>
      eb
        .selectFrom('membership')
        .select('id')
        .where('wanted', '=', false)
        .where('state', 'in', ['removed', 'released']),
    )
    .execute();
}

/** An address that a membership is, or was, for; with `givenAt` only while the access has not ended. */
export interface GivenAddress
  extends Pick<Row<'membershipAddress'>, 'id' | 'install' | 'isCurrent' | 'givenAt' | 'wasAbsent'> {
  address: string;
}

/** All addresses that memberships are, or were, for; the oldest first. */
export async function addressesOfMemberships(
  ctx: Storage,
  tx: Transaction,
  membershipIds: readonly number[],
): Promise<Map<number, GivenAddress[]>> {
  const addresses = tx.selectFrom('membershipAddress').selectAll().where('membershipId', 'in', membershipIds);
  const rows = await addresses.orderBy('id').execute();
  return Map.groupBy(
    rows.map((row) => ({ ...toGiven(ctx.box, row), membershipId: row.membershipId })),
    ({ membershipId }) => membershipId,
  );
}

/**
 * The addresses that installs know for these trainers, by `install/trainer`.
 *
 * @param domains if not empty, only addresses of these domains count
 */
export async function knownAddresses(
  ctx: Storage,
  tx: Transaction,
  trainerIds: string[],
  domains: readonly string[],
): Promise<Map<string, string>> {
  let query = tx
    .selectFrom('person')
    .select(['install', 'trainerId', 'workEmail'])
    .where('trainerId', 'in', trainerIds)
    .where('workEmail', 'is not', null);
  if (domains.length > 0) query = query.where('workEmailDomain', 'in', domains);
  const people = await query.execute();
  return new Map(
    people.flatMap(({ workEmail, ...key }) =>
      workEmail === null ? [] : [[`${key.install}/${key.trainerId}`, openAddress(ctx.box, { ...key, workEmail })]],
    ),
  );
}

/** Makes the address that an install knows for the trainer the current one of a membership. */
export async function setCurrentAddress(
  ctx: Storage,
  tx: Transaction,
  membershipId: number,
  { install, trainerId, address }: { install: string; trainerId: string; address: string },
): Promise<void> {
  const known = (await addressesOfMemberships(ctx, tx, [membershipId])).get(membershipId) ?? [];
  await tx
    .updateTable('membershipAddress')
    .set({ isCurrent: false })
    .where('membershipId', '=', membershipId)
    .execute();
  const before = known.find((one) => one.address === address);
  if (before === undefined) await copyFromPerson(tx, membershipId, { install, trainerId });
  else await updateAddress(tx, before.id, { isCurrent: true });
}

type PersonKey = Pick<Row<'membershipAddress'>, 'install' | 'trainerId'>;

/** Copies the encrypted address as it is: the encryption is bound to the install and the trainer. */
async function copyFromPerson(tx: Transaction, membershipId: number, { install, trainerId }: PersonKey): Promise<void> {
  const { workEmail, workEmailDigest, workEmailDomain } = await tx
    .selectFrom('person')
    .select(['workEmail', 'workEmailDigest', 'workEmailDomain'])
    .where((eb) => eb.and({ install, trainerId }))
    .executeTakeFirstOrThrow();
  if (workEmail === null || workEmailDigest === null) return;
  const address = { install, trainerId, workEmail, workEmailDigest, workEmailDomain };
  await tx
    .insertInto('membershipAddress')
    .values({ membershipId, ...address, isCurrent: true })
    .execute();
}

function toGiven(box: SecretBox, row: Row<'membershipAddress'>): GivenAddress {
  const { id, install, isCurrent, givenAt, endedAt, wasAbsent } = row;
  const address = openAddress(box, row);
  return { id, install, address, isCurrent, givenAt: endedAt === null ? givenAt : null, wasAbsent };
}

function openAddress(box: SecretBox, { workEmail, ...key }: PersonKey & { workEmail: Buffer }) {
  return box.open(workEmail, workEmailContext(key)).toString('utf8').toLowerCase();
}
