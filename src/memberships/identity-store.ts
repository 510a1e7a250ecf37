import { type ExpressionBuilder, type ExpressionWrapper, type SqlBool, sql } from 'kysely';
import type { Member } from '../adapters/adapter.ts';
import type { Storage } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import { jsonRows, keyIn } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import { workEmailContext } from '../db/seal-contexts.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import type { SecretBox } from '../keys/secret-box.ts';

// The only SQL that decides who a person in a tool is: the addresses that installs know for a trainer, those under
// which a membership gave access, and the trainer of each account. Addresses are returned as plain text in lower case.

/** Ends the record that this membership gave access under its addresses. */
export async function endGivenAddresses(tx: Transaction, membershipId: number, now: string): Promise<void> {
  await tx
    .updateTable('membershipAddress')
    .set({ endedAt: now })
    .where('membershipId', '=', membershipId)
    .where('givenAt', 'is not', null)
    .where('endedAt', 'is', null)
    .execute();
}

/** Records access under an address that an operator named and no install. */
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

/** Whether the membership has a current address that may be mailed. */
export function isReachable(
  eb: ExpressionBuilder<Tables, 'membership'>,
  managedDomains: readonly string[],
): ExpressionWrapper<Tables, 'membership', SqlBool> {
  let address = addressOf(eb).where('isCurrent', '=', true);
  if (managedDomains.length > 0) address = address.where('workEmailDomain', 'in', managedDomains);
  return eb.exists(address);
}

type AddressUpdate = Pick<Row<'membershipAddress'>, 'id'> &
  Partial<Pick<Row<'membershipAddress'>, 'isCurrent' | 'givenAt' | 'endedAt' | 'wasAbsent'>>;

export const updateAddress = prepared((db, { id, ...values }: AddressUpdate) =>
  db.updateTable('membershipAddress').set(values).where('id', '=', id),
);

/** After a refusal: the tool made no account, so an account that exists later was made by others. */
export async function forgetAbsence(tx: Transaction, membershipId: number): Promise<void> {
  await tx
    .updateTable('membershipAddress')
    .set({ wasAbsent: null })
    .where('membershipId', '=', membershipId)
    .where('endedAt', 'is', null)
    .execute();
}

/** Deletes the addresses of memberships that have ended, but none that a removal still needs. */
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

/** An address of a membership, current or former. `givenAt` is null once the access has ended. */
export interface GivenAddress
  extends Pick<Row<'membershipAddress'>, 'id' | 'install' | 'isCurrent' | 'givenAt' | 'wasAbsent'> {
  address: string;
}

/** All addresses of these memberships, current and former, the oldest first. */
export async function addressesOfMemberships(
  ctx: Storage,
  tx: Transaction,
  membershipIds: readonly number[],
): Promise<Map<number, GivenAddress[]>> {
  const addresses = tx.selectFrom('membershipAddress').selectAll().where('membershipId', 'in', membershipIds);
  const rows = await addresses.orderBy('id').execute();
  return Map.groupBy(
    rows.map(({ endedAt, ...row }) => ({
      ...row,
      address: openAddress(ctx.box, row),
      givenAt: endedAt === null ? row.givenAt : null,
    })),
    ({ membershipId }) => membershipId,
  );
}

/**
 * The addresses that installs know for these trainers, by `install/trainer`.
 *
 * @param domains if not empty, only addresses of these domains
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

/** An address that an install knows for the trainer of a membership. */
export interface KnownAddress extends PersonKey {
  membershipId: number;
  address: string;
}

/** Makes these addresses the current ones of their memberships. */
export async function setCurrentAddresses(
  ctx: Storage,
  tx: Transaction,
  wanted: readonly KnownAddress[],
): Promise<void> {
  if (wanted.length === 0) return;
  const ids = wanted.map(({ membershipId }) => membershipId);
  const known = await addressesOfMemberships(ctx, tx, ids);
  await tx.updateTable('membershipAddress').set({ isCurrent: false }).where('membershipId', 'in', ids).execute();
  const added: KnownAddress[] = [];
  for (const one of wanted) {
    const before = known.get(one.membershipId)?.find(({ address }) => address === one.address);
    if (before === undefined) added.push(one);
    else await updateAddress(tx, { id: before.id, isCurrent: true });
  }
  if (added.length > 0) await copyFromPeople(ctx, tx, added);
}

type PersonKey = Pick<Row<'membershipAddress'>, 'install' | 'trainerId'>;

/** Copies addresses without decrypting them: their encryption is bound to the install and the trainer. */
async function copyFromPeople({ database }: Storage, tx: Transaction, added: readonly KnownAddress[]): Promise<void> {
  const rows = added.map(({ membershipId, install, trainerId }) => [membershipId, install, trainerId]);
  await sql`
    insert into membership_address
      (membership_id, install, trainer_id, work_email, work_email_digest, work_email_domain, is_current)
    select cast(value ->> 0 as bigint), install, trainer_id, work_email, work_email_digest, work_email_domain, 1
    from ${jsonRows(database, rows)} as given join person on install = value ->> 1 and trainer_id = value ->> 2
    where work_email is not null and work_email_digest is not null`.execute(tx);
}

function openAddress(box: SecretBox, { workEmail, ...key }: PersonKey & { workEmail: Buffer }) {
  return box.open(workEmail, workEmailContext(key)).toString('utf8').toLowerCase();
}

/** A trainer who may own an account. */
interface Owner {
  tool: string;
  trainerId: string;
}

/** Compares the id, the trainer and the time of creation, because a tool may reuse ids. */
export async function isAccountOurs(
  db: Transaction,
  { tool, trainerId }: Owner,
  found: Pick<Member, 'id' | 'madeAt'>,
): Promise<boolean> {
  const account = await db
    .selectFrom('account')
    .select(['isOurs', 'trainerId', 'madeAt'])
    .where((eb) => eb.and({ tool, accountId: found.id }))
    .executeTakeFirst();
  if (account?.isOurs !== true) return false;
  const { trainerId: owner, madeAt } = account;
  if (owner !== null && owner !== trainerId) return false;
  return madeAt === null || found.madeAt === undefined || madeAt === found.madeAt;
}

/** Those of these ids that belong to another trainer, or to another current membership of the same trainer. */
export async function findKnownMembers(
  db: Transaction,
  { tool, trainerId }: Owner,
  ids: readonly string[],
): Promise<Set<string>> {
  const found = await db
    .selectFrom('membership')
    .select('memberId')
    .where('tool', '=', tool)
    .where('memberId', 'in', ids)
    .where((eb) => eb.or([eb('trainerId', '<>', trainerId), eb('state', 'not in', ['removed', 'released'])]))
    .execute();
  return new Set(found.flatMap(({ memberId }) => memberId ?? []));
}

/** Records what a call or a look has shown about an account. An account that is ours stays ours. */
export async function recordAccount(
  tx: Transaction,
  { tool, trainerId }: Owner,
  { memberId: accountId, isAccountOurs, madeAt }: { memberId?: string; isAccountOurs?: boolean; madeAt?: string },
  seenAt: string,
): Promise<void> {
  if (accountId === undefined) return;
  if (isAccountOurs) {
    await keepAccount(tx, { tool, accountId, seenAt, trainerId, madeAt: madeAt ?? null });
  } else if (madeAt !== undefined) {
    await tx
      .updateTable('account')
      .set({ madeAt })
      .where((eb) => eb.and({ tool, accountId, trainerId }))
      .where('madeAt', 'is', null)
      .execute();
  }
}

const keepAccount = prepared((db, account: Omit<Row<'account'>, 'isOurs'>) => {
  const { trainerId, madeAt } = account;
  return db
    .insertInto('account')
    .values({ ...account, isOurs: true })
    .onConflict((of) => of.columns(['tool', 'accountId']).doUpdateSet({ isOurs: true, trainerId, madeAt }));
});

/** Moves the account to another trainer, who keeps it. */
export async function bindAccount(
  tx: Transaction,
  { tool, trainerId }: Owner,
  accountId: string | null,
  keeper: string,
): Promise<void> {
  await tx
    .updateTable('account')
    .set({ trainerId: keeper })
    .where((eb) => eb.and({ tool, accountId: accountId ?? '', trainerId }))
    .execute();
}

/** Records that we made the account, whichever trainer it was made for. */
export async function adoptAccount(tx: Transaction, tool: string, accountId: string, seenAt: string): Promise<void> {
  await tx
    .insertInto('account')
    .values({ tool, accountId, isOurs: true, seenAt })
    .onConflict((conflict) => conflict.columns(['tool', 'accountId']).doUpdateSet({ isOurs: true }))
    .execute();
}
