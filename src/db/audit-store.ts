import type { Selectable } from 'kysely';
import type { Database, Transaction } from './database.ts';
import type { AuditTable } from './tables.ts';

/** The operator who decides something, and the time. */
export interface By {
  actor: string;
  at: string;
}

/** One decision of an operator. */
export type Act = Selectable<AuditTable>;

export interface ActFilter {
  actor?: string | undefined;
  /** Only acts with a smaller id: the page before one that was listed. */
  before?: number | undefined;
  limit: number;
}

/** @param subject what was decided about, by names and ids, without addresses */
export async function writeAudit(tx: Transaction, { actor, at }: By, action: string, subject: string): Promise<void> {
  await tx.insertInto('audit').values({ actor, action, subject, at }).execute();
}

/** The newest first. */
export async function listActs({ kysely }: Database, { actor, before, limit }: ActFilter): Promise<Act[]> {
  let acts = kysely.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit);
  if (actor !== undefined) acts = acts.where('actor', '=', actor);
  if (before !== undefined) acts = acts.where('id', '<', before);
  return await acts.execute();
}
