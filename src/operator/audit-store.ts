/**
 * This folder holds what operators decide and look up from the command line. Everything works beside a running
 * `start`, on the same database: it stores decisions and leaves acting on them to the workers.
 */
import type { Transaction } from '../db/database.ts';

/** Who decides something, and when. */
export interface By {
  actor: string;
  at: string;
}

/** @param subject what was decided about, by names and ids, without addresses */
export async function writeAudit(tx: Transaction, { actor, at }: By, action: string, subject: string): Promise<void> {
  await tx.insertInto('audit').values({ actor, action, subject, at }).execute();
}
