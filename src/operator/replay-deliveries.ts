import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction } from '../db/database.ts';
import type { DeliveryFilter, InboxStore } from '../inbox/inbox-store.ts';

/** So many deliveries are replayed at once, which is also what is named in the audit log. */
export const mostReplayed = 1000;

export interface Replayed {
  /** Made due again. */
  replayed: number[];
  /** Left as they are, as their bodies were not kept. */
  left: number[];
  /** The row of the audit log, which names all of them. */
  act: number;
}

interface ReplayDeps {
  database: Database;
  inbox: InboxStore;
  by: By;
}

/** Has deliveries handled again: all whose bodies were kept. None holds up another. */
export async function replayDeliveries(
  { database, inbox, by }: ReplayDeps,
  ids: readonly number[],
  which = `deliveries ${ids.slice(0, mostReplayed).join(', ')}`,
): Promise<Replayed> {
  return await inTransaction(database, async (tx) => {
    const replayed = (await inbox.replay(tx, ids, by.at)).toSorted((a, b) => a - b);
    const done = new Set(replayed);
    const left = ids.filter((id) => !done.has(id));
    const act = await writeAudit(tx, by, 'deliveries replay', `${replayed.length} of ${which}`, {
      after: toText({ replayed, left }),
    });
    return { replayed, left, act };
  });
}

/** Replays what a filter matches, the newest first: at most `mostReplayed`. */
export async function replayMatching(deps: ReplayDeps, filter: Omit<DeliveryFilter, 'limit'>): Promise<Replayed> {
  const matching = await deps.inbox.list({ ...filter, limit: mostReplayed });
  const asked = Object.entries(filter).filter(([, value]) => value !== undefined);
  const which = `all that match ${asked.map(([name, value]) => `${name} ${value}`).join(', ') || 'anything'}`;
  return await replayDeliveries(
    deps,
    matching.map(({ id }) => id),
    which,
  );
}

/** Replays all that failed, however many they are. @returns how many */
export async function replayFailed({ database, inbox, by }: ReplayDeps): Promise<number> {
  return await inTransaction(database, async (tx) => {
    const replayed = await inbox.replayFailed(tx, by.at);
    if (replayed > 0) await writeAudit(tx, by, 'deliveries replay', `${replayed} deliveries: all that failed`);
    return replayed;
  });
}

function toText({ replayed, left }: Pick<Replayed, 'replayed' | 'left'>): string {
  const lines = [`to be looked at again: ${replayed.join(', ') || 'none'}`];
  if (left.length > 0) lines.push(`left as they are, as their bodies were not kept: ${left.join(', ')}`);
  return lines.join('\n');
}
