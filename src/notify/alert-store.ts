import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { lockRows } from '../db/lock.ts';
import type { AlertKind, RaisedKind } from '../lib/troubles.ts';
import type { AlertSubject } from './alert-subject.ts';

// The SQL of alerts: one row for each subject, however often it is raised.

export type StandingAlerts = { kind: RaisedKind; scope: string } | { after: number; limit: number };

export interface FoundAlert {
  kind: AlertKind;
  digest: string;
  /** The ids of its scope as JSON, for kinds that are observed. */
  scope: string;
  subject: AlertSubject;
  /** As a notice shows it. */
  about: Record<string, string>;
  message: string;
  /** Of what the message counts. */
  count: number | null;
  at: string;
}

export interface StoredAlert {
  id: number;
  /** A newer version may have kinds that this one does not know. */
  kind: string;
  digest: string;
  subject: AlertSubject;
  about: Record<string, string>;
  message: string;
  raisedAt: string;
  seenAt: string;
  isAnnounced: boolean;
  count: number | null;
  announcedAt: string | null;
  overAt: string | null;
}

export type AlertChanges = Partial<Omit<StoredAlert, 'id' | 'kind' | 'digest' | 'subject'>>;

export async function findAlert(ctx: Storage, digest: string): Promise<StoredAlert | undefined> {
  const row = await select(ctx.database.kysely).where('digest', '=', digest).executeTakeFirst();
  return row && toStored(row);
}

/** Adds the row if there is none, and locks it until the transaction ends. */
export async function lockAlert(
  ctx: Storage,
  tx: Transaction,
  { kind, digest, scope, message, count, at, ...rest }: FoundAlert,
): Promise<StoredAlert> {
  const [subject, about] = [JSON.stringify(rest.subject), JSON.stringify(rest.about)];
  await tx
    .insertInto('alert')
    .values({
      kind,
      digest,
      scope,
      subject,
      about,
      message,
      count,
      raisedAt: at,
      seenAt: at,
      announcedAt: null,
      overAt: null,
    })
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

/** Those that stand: of one kind and scope, or a page of all. Ordered by id. */
export async function listStandingAlerts(ctx: Storage, which: StandingAlerts): Promise<StoredAlert[]> {
  const all = select(ctx.database.kysely).where('overAt', 'is', null).orderBy('id');
  const some =
    'kind' in which
      ? all.where('kind', '=', which.kind).where('scope', '=', which.scope)
      : all.where('id', '>', which.after).limit(which.limit);
  return (await some.execute()).map(toStored);
}

export async function countStandingAlerts(ctx: Storage): Promise<{ kind: string; count: number }[]> {
  const rows = await ctx.database.kysely
    .selectFrom('alert')
    .select((eb) => ['kind', eb.fn.countAll<number>().as('count')])
    .where('overAt', 'is', null)
    .groupBy('kind')
    .orderBy('kind')
    .execute();
  return rows.map(({ kind, count }) => ({ kind, count: Number(count) }));
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
  return db
    .selectFrom('alert')
    .select(['id', 'kind', 'digest', 'subject', 'about', 'message'])
    .select(['raisedAt', 'seenAt', 'isAnnounced', 'count', 'announcedAt', 'overAt']);
}

interface AlertRow extends Omit<StoredAlert, 'subject' | 'about'> {
  subject: string;
  about: string;
}

function toStored({ subject, about, ...row }: AlertRow): StoredAlert {
  return { ...row, subject: JSON.parse(subject) as AlertSubject, about: JSON.parse(about) as Record<string, string> };
}
