import type { Database, Transaction } from './database.ts';
import { given } from './query.ts';
import type { Row } from './schema.ts';

/** Who decides something, and when. */
export interface By {
  actor: string;
  at: string;
  /** Where the operator acts: `command line` by default, or `console` and an address. */
  origin?: string;
}

/** What an act changed, as text without personal data. */
export interface ActChange {
  before?: string | null | undefined;
  after?: string | null | undefined;
}

/** One decision of an operator. */
export type Act = Row<'audit'>;

export interface ActFilter {
  actor?: string | undefined;
  /** Lists only acts with a smaller id, which are the next page. */
  before?: number | undefined;
  limit: number;
}

/**
 * @param subject what the decision is about: names and ids, no addresses
 * @returns the id of the act
 */
export async function writeAudit(
  tx: Transaction,
  { actor, at, origin }: By,
  action: string,
  subject: string,
  { before = null, after = null }: ActChange = {},
): Promise<number> {
  const act = { actor, action, subject, at, origin, before, after };
  const { id } = await tx.insertInto('audit').values(act).returning('id').executeTakeFirstOrThrow();
  return id;
}

export async function findAct({ kysely }: Database, id: number): Promise<Act | undefined> {
  return await kysely.selectFrom('audit').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The newest first. */
export async function listActs({ kysely }: Database, { actor, before, limit }: ActFilter): Promise<Act[]> {
  const acts = kysely.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit);
  const wanted = acts.where((eb) => eb.and(given({ actor })));
  return await (before === undefined ? wanted : wanted.where('id', '<', before)).execute();
}
