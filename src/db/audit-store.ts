import type { Transaction } from './database.ts';

/** Who decides something, and when. */
export interface By {
  actor: string;
  at: string;
}

/** @param subject what was decided about, by names and ids, without addresses */
export async function writeAudit(tx: Transaction, { actor, at }: By, action: string, subject: string): Promise<void> {
  await tx.insertInto('audit').values({ actor, action, subject, at }).execute();
}
