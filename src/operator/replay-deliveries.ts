import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { type DeliveryFilter, listDeliveryIds } from '../inbox/delivery-list-store.ts';
import { replayDeliveriesIn, replayFailedDeliveries } from '../inbox/inbox-store.ts';
import type { Storage } from '../keys/storage.ts';

export interface Replayed {
  /** Deliveries that are looked at again. */
  replayed: number[];
  /** Deliveries that stay as they are: of a type that nothing uses, whose body was not kept. */
  left: number[];
  /** The row of the audit log; null if nothing was replayed. */
  act: number | null;
}

export interface ReplayWish {
  ids: readonly number[];
  /** Whether all that failed are replayed too. */
  failed?: boolean;
  /** What the deliveries were chosen by, for the audit log. */
  chosenBy?: string;
}

/** So many deliveries are replayed at a time if a filter chooses them. */
const mostReplayed = 1000;
/** So many numbers are in the subject of the act. Its `after` names all, or the first 1,000. */
const mostNoted = 50;

/** Has deliveries looked at again. One that cannot be replayed stays as it is, and keeps no other from it. */
export async function replayDeliveries(ctx: Storage, by: By, wish: ReplayWish): Promise<Replayed> {
  return await inTransaction(ctx.database, async (tx) => {
    const named = await replayDeliveriesIn(tx, wish.ids, by.at);
    const isNamed = new Set(named);
    const left = wish.ids.filter((id) => !isNamed.has(id));
    const failed = wish.failed === true ? await replayFailedDeliveries(tx, by.at) : [];
    const replayed = [...named, ...failed.filter((id) => !isNamed.has(id))];
    return { replayed, left, act: await keepAct(tx, by, wish, { replayed, left }) };
  });
}

/** Has the newest deliveries looked at again that match a filter, 1,000 at most. */
export async function replayMatching(
  ctx: Storage,
  by: By,
  filter: Omit<DeliveryFilter, 'limit'>,
  chosenBy: string,
): Promise<Replayed> {
  const ids = await listDeliveryIds(ctx.database.kysely, { ...filter, limit: mostReplayed });
  return await replayDeliveries(ctx, by, { ids, chosenBy });
}

async function keepAct(
  tx: Transaction,
  by: By,
  { ids, failed, chosenBy }: ReplayWish,
  { replayed, left }: Omit<Replayed, 'act'>,
): Promise<number | null> {
  if (replayed.length === 0 && chosenBy === undefined) return null;
  const which = chosenBy ?? [...(failed ? ['all that failed'] : []), ...ids.slice(0, mostNoted)].join(', ');
  const after = [toLine('replayed', replayed), toLine('left, as the body was not kept', left)].join('\n');
  return await writeAudit(tx, by, 'deliveries replay', `${replayed.length} deliveries: ${which}`, { after });
}

function toLine(what: string, ids: readonly number[]): string {
  const rest = ids.length > mostReplayed ? ` and ${ids.length - mostReplayed} more` : '';
  return `${what}: ${ids.slice(0, mostReplayed).join(' ')}${rest}`;
}
