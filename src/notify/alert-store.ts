import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { lockRows } from '../db/lock.ts';
import type { Row } from '../db/schema.ts';
import type { AlertKind, RaisedKind } from '../lib/troubles.ts';

// The SQL of alerts: one row for each subject, however often it is raised.

/** The ids that identify what an alert is about, as they are in the database. */
export type AlertSubject = Readonly<Record<string, string>>;

export type OpenAlertFilter = { kind: RaisedKind; scope: string } | { after: number; limit: number };

/** A newer version may store kinds that this one does not know. */
export interface StoredAlert extends Omit<Row<'alert'>, 'subject' | 'about'> {
  subject: AlertSubject;
  /** As a notice shows it. */
  about: Record<string, string>;
}

/** Its `count` is of what the message counts. */
export interface FoundAlert extends Pick<StoredAlert, 'digest' | 'scope' | 'subject' | 'about' | 'message' | 'count'> {
  kind: AlertKind;
  at: string;
}

export type AlertChanges = Partial<Omit<StoredAlert, 'id' | 'kind' | 'digest' | 'scope' | 'subject'>>;

export async function findAlert(ctx: Storage, digest: string): Promise<StoredAlert | undefined> {
  const row = await select(ctx.database.kysely).where('digest', '=', digest).executeTakeFirst();
  return row && toStored(row);
}

/** Adds the row if there is none, and locks it until the transaction ends. */
export async function lockAlert(
  ctx: Storage,
  tx: Transaction,
  { kind, digest, scope, subject, about, message, count, at }: FoundAlert,
): Promise<StoredAlert> {
  const found = { kind, digest, scope, subject: JSON.stringify(subject), about: JSON.stringify(about), message, count };
  await tx
    .insertInto('alert')
    .values({ ...found, raisedAt: at, seenAt: at, announcedAt: null, overAt: null })
    .onConflict((conflict) => conflict.column('digest').doNothing())
    .execute();
  const row = lockRows(ctx.database, select(tx).where('digest', '=', digest));
  return toStored(await row.executeTakeFirstOrThrow());
}

/** Locks a row that is known; undefined if it was deleted. */
export async function lockAlertAgain(ctx: Storage, tx: Transaction, id: number): Promise<StoredAlert | undefined> {
  const row = await lockRows(ctx.database, select(tx).where('id', '=', id)).executeTakeFirst();
  return row && toStored(row);
}

export async function updateAlert(tx: Transaction, id: number, { about, ...changes }: AlertChanges): Promise<void> {
  await tx
    .updateTable('alert')
    .set({ ...changes, ...(about && { about: JSON.stringify(about) }) })
    .where('id', '=', id)
    .execute();
}

/** Open alerts by id: those of one kind and scope, or a page of all. */
export async function listOpenAlerts(ctx: Storage, which: OpenAlertFilter): Promise<StoredAlert[]> {
  const all = select(ctx.database.kysely).where('overAt', 'is', null).orderBy('id');
  const some =
    'kind' in which
      ? all.where('kind', '=', which.kind).where('scope', '=', which.scope)
      : all.where('id', '>', which.after).limit(which.limit);
  return (await some.execute()).map(toStored);
}

export function countOpenAlerts(ctx: Storage): Promise<{ kind: string; count: number }[]> {
  return ctx.database.kysely
    .selectFrom('alert')
    .select((eb) => ['kind', eb.fn.countAll<number>().as('count')])
    .where('overAt', 'is', null)
    .groupBy('kind')
    .orderBy('kind')
    .execute();
}

/** Deletes up to `limit` that were over before `before`. */
export async function purgeAlerts(ctx: Storage, before: string, limit: number): Promise<number> {
  const old = ctx.database.kysely
    .selectFrom('alert')
    .select('id')
    .where('overAt', '<', before)
    .orderBy('overAt')
    .limit(limit);
  const ids = (await old.execute()).map(({ id }) => id);
  if (ids.length === 0) return 0;
  await inTransaction(ctx.database, (tx) =>
    tx.deleteFrom('alert').where('id', 'in', ids).where('overAt', '<', before).execute(),
  );
  return ids.length;
}

function select(db: Transaction) {
  return db.selectFrom('alert').selectAll();
}

function toStored({ subject, about, ...row }: Row<'alert'>): StoredAlert {
  return { ...row, subject: JSON.parse(subject) as AlertSubject, about: JSON.parse(about) as Record<string, string> };
}

export type AlertedMembership = Pick<Row<'membership'>, 'wanted' | 'state' | 'doubtedId'>;

export function findMembershipState(ctx: Storage, id: number): Promise<AlertedMembership | undefined> {
  return ctx.database.kysely
    .selectFrom('membership')
    .select(['wanted', 'state', 'doubtedId'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Whether a call or a look let the trainer in after `since`, in the current generation. */
export async function wasAddedAfter(ctx: Storage, membership: number, since: string): Promise<boolean> {
  const receipt = ctx.database.kysely
    .selectFrom('receipt')
    .innerJoin('membership', (join) =>
      join
        .onRef('membership.id', '=', 'receipt.membershipId')
        .onRef('membership.generation', '=', 'receipt.generation'),
    )
    .select('receipt.id')
    .where('membershipId', '=', membership)
    .where('outcome', 'in', ['added', 'invited'])
    .where('createdAt', '>', since)
    .limit(1);
  return (await receipt.executeTakeFirst()) !== undefined;
}

/** Whether installs gave one trainer access to one tool under different addresses. */
export async function doAddressesDiffer(ctx: Storage, tool: string, trainerId: string): Promise<boolean> {
  const accesses = await ctx.database.kysely
    .selectFrom('membership')
    .innerJoin('membershipAddress', 'membershipAddress.membershipId', 'membership.id')
    .select(['membership.install', 'workEmailDigest'])
    .where((eb) => eb.and({ tool, 'membership.trainerId': trainerId }))
    .where('wanted', '=', true)
    .where('isCurrent', '=', true)
    .execute();
  const hasSeveral = (values: (string | null)[]) => new Set(values).size > 1;
  return hasSeveral(accesses.map((one) => one.install)) && hasSeveral(accesses.map((one) => one.workEmailDigest));
}
