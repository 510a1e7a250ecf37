import type { Storage } from '../../context.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { keptAnswerContext } from '../../db/seal-contexts.ts';

/** For this long, a request that is repeated with its key gets the same answer. */
export const answerKeptMs = 24 * 3_600_000;

/** The table has only keyed digests of both. The answer is sealed, because it may be an invitation. */
export interface KeyedRequest {
  /** The operator and their key, as one text. */
  key: string;
  /** All of the request that must be the same when the key is used again. */
  request: string;
}

type Begun =
  | { outcome: 'begun'; id: number }
  | { outcome: 'answered'; answer: unknown }
  | { outcome: 'other_request' | 'under_way' };

/** Claims the key for a request, unless it was claimed after `keptSince`. */
export function beginAnswer(ctx: Storage, keyed: KeyedRequest, now: string, keptSince: string): Promise<Begun> {
  return durably(ctx, async (tx) => {
    const found = await findBegun(ctx, tx, keyed, keptSince);
    if (found !== undefined) return found;
    const inserted = await tx
      .insertInto('keptAnswer')
      .values({ ...digestsOf(ctx, keyed), begunAt: now })
      .onConflict((conflict) => conflict.column('keyDigest').doNothing())
      .returning('id')
      .executeTakeFirst();
    // Another request with this key was faster.
    return inserted === undefined ? { outcome: 'under_way' } : { outcome: 'begun', id: inserted.id };
  });
}

/** Stores the answer for as long as the key is kept. */
export async function keepAnswer(ctx: Storage, id: number, answer: object): Promise<void> {
  const sealed = ctx.box.seal(Buffer.from(JSON.stringify(answer)), keptAnswerContext({ id }));
  await durably(ctx, (tx) => tx.updateTable('keptAnswer').set({ answer: sealed }).where('id', '=', id).execute());
}

/** Frees the key, so that the same request can be tried again. */
export async function dropAnswer(ctx: Storage, id: number): Promise<void> {
  await inTransaction(ctx.database, (tx) => tx.deleteFrom('keptAnswer').where('id', '=', id).execute());
}

/** Deletes up to `limit` answers whose acts began before an instant. @returns how many */
export async function purgeAnswers(ctx: Storage, before: string, limit: number): Promise<number> {
  const old = ctx.database.kysely.selectFrom('keptAnswer').select('id').where('begunAt', '<', before);
  const ids = (await old.orderBy('begunAt').limit(limit).execute()).map(({ id }) => id);
  if (ids.length === 0) return 0;
  await inTransaction(ctx.database, (tx) => tx.deleteFrom('keptAnswer').where('id', 'in', ids).execute());
  return ids.length;
}

function digestsOf({ box }: Storage, { key, request }: KeyedRequest) {
  return {
    keyDigest: box.digest(`kept_answer.key:${key}`),
    requestDigest: box.digest(`kept_answer.request:${request}`),
  };
}

// If a power cut lost the record that an act began, the act would be done twice.
function durably<T>(ctx: Storage, work: (tx: Transaction) => Promise<T>) {
  return inTransaction(ctx.database, work, { isDurable: true });
}

async function findBegun(
  ctx: Storage,
  tx: Transaction,
  keyed: KeyedRequest,
  keptSince: string,
): Promise<Begun | undefined> {
  const { keyDigest, requestDigest } = digestsOf(ctx, keyed);
  await tx.deleteFrom('keptAnswer').where('keyDigest', '=', keyDigest).where('begunAt', '<', keptSince).execute();
  const found = await tx.selectFrom('keptAnswer').selectAll().where('keyDigest', '=', keyDigest).executeTakeFirst();
  if (found === undefined) return undefined;
  if (requestDigest !== found.requestDigest) return { outcome: 'other_request' };
  if (found.answer === null) return { outcome: 'under_way' };
  const answer = ctx.box.open(found.answer, keptAnswerContext(found)).toString();
  return { outcome: 'answered', answer: JSON.parse(answer) };
}
