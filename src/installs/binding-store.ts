import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { upsert } from '../db/query.ts';
import { type Customer, describeOtherCustomer } from '../domain/binding.ts';
import { AppError } from '../domain/errors.ts';
import type { Grant } from '../marketplace/source.ts';

// The only SQL about the customer that each install is bound to, and the grants behind it.

/**
 * @param installs the names of all installs; the binding of an install that is gone does not count
 * @throws AppError `conflict` if the grant belongs to another customer than the install is bound to
 */
export async function checkBinding(
  ctx: Storage,
  install: string,
  grant: Grant,
  installs: ReadonlySet<string>,
): Promise<void> {
  const found = toCustomer(grant);
  const rows = await ctx.database.kysely
    .selectFrom('installBinding')
    .selectAll()
    .where((eb) => eb.or([eb('install', '=', install), eb('grantId', '=', found.grantId)]))
    .orderBy('install')
    .execute();
  const bound = rows.find((row) => row.install === install);
  const holder = rows.find((row) => isHolder(row) && installs.has(row.install));
  const how = describeOtherCustomer(bound, found, holder?.install);
  if (how !== null) throw otherCustomer(install, how);

  function isHolder(row: (typeof rows)[number]): boolean {
    return row.install !== install && row.grantId === found.grantId && grant.isShared !== true;
  }
}

/** Binds an install that is not bound yet, and adds what was not known before. */
export async function learnBinding(ctx: Storage, install: string, grant: Grant): Promise<void> {
  const found = toCustomer(grant);
  await inTransaction(ctx.database, async (tx) => {
    const bound = await tx.selectFrom('installBinding').selectAll().where('install', '=', install).executeTakeFirst();
    const { organizationId = null, appId = null } = bound ?? {};
    await writeBinding(tx, install, {
      grantId: found.grantId,
      organizationId: organizationId ?? found.organizationId,
      appId: appId ?? found.appId,
    });
  });
}

/** Binds an install to a customer, even if it is bound to another. */
export function bindInstall(tx: Transaction, install: string, grant: Grant): Promise<void> {
  return writeBinding(tx, install, toCustomer(grant));
}

async function writeBinding(tx: Transaction, install: string, customer: Customer): Promise<void> {
  await upsert(tx, 'installBinding', ['install'], [{ install, ...customer }]);
}

function toCustomer({ id: grantId, organizationId = null, partnerApp }: Grant): Customer {
  return { grantId, organizationId, appId: partnerApp?.id ?? null };
}

function otherCustomer(install: string, how: string): AppError {
  return new AppError(
    'conflict',
    `The token of ${install} is ${how}. Put its own token back, or give the other customer an install of their own. ` +
      `If ${install} is theirs from now on, run gangway connect ${install} --accept-other-customer`,
  );
}

/** The grants that an install is known to have had. */
export async function grantIdsOf(ctx: Storage, install: string): Promise<string[]> {
  const rows = await selectKnown(ctx).where('install', '=', install).execute();
  return rows.map(({ grantId }) => grantId);
}

/** The installs that are known to have had a grant. */
export async function holdersOfGrant(ctx: Storage, grantId: string): Promise<string[]> {
  const rows = await selectKnown(ctx).where('grantId', '=', grantId).execute();
  return rows.map(({ install }) => install).sort();
}

function selectKnown({ database: { kysely } }: Storage) {
  const read = kysely.selectFrom('installGrant').select(['install', 'grantId']);
  const connected = kysely.selectFrom('connectedInstall').select(['install', 'grantId']);
  return kysely.selectFrom(read.union(connected).as('known')).select(['install', 'grantId']);
}
