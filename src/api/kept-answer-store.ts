import { inTransaction, type Transaction } from '../db/database.ts';
import { keptAnswerContext } from '../db/seal-contexts.ts';
import type { Storage } from '../keys/storage.ts';

// The only SQL of what acts were answered with. Of key and request there are keyed digests; the answer is sealed, as it
// may be an invitation.

/** So long the same request under the same key gets the same answer. */
export const answerKeptMs = 24 * 3_600_000;

export interface KeyedRequest {
  /** The operator and their key, as one text. */
  key: string;
  /** All of the request that must be the same. */
  request: string;
}

type Begun =
  | { outcome: 'begun'; id: number }
  | { outcome: 'answered'; answer: unknown }
  | { outcome: 'other_request' | 'under_way' };

/** Takes the key for a request, unless it was taken since `keptSince`. */
export function beginAnswer(ctx: Storage, given: KeyedRequest, now: string, keptSince: string): Promise<Begun> {
  return durably(ctx, async (tx) => {
    const found = await findBegun(ctx, tx, given, keptSince);
    if (found !== undefined) return found;
    const row = {
      keyDigest: ctx.box.digest(keyText(given)),
      requestDigest: ctx.box.digest(requestText(given)),
      begunAt: now,
    };
    const inserted = await tx
      .insertInto('keptAnswer')
      .values(row)
      .onConflict((conflict) => conflict.column('keyDigest').doNothing())
      .returning('id')
      .executeTakeFirst();
    // Another request with this key came first.
    return inserted === undefined ? { outcome: 'under_way' } : { outcome: 'begun', id: inserted.id };
  });
}

/** Keeps the answer for as long as the key is taken. */
export async function keepAnswer(ctx: Storage, id: number, answer: object): Promise<void> {
  const sealed = ctx.box.seal(Buffer.from(JSON.stringify(answer)), keptAnswerContext({ id }));
  await durably(ctx, (tx) => tx.updateTable('keptAnswer').set({ answer: sealed }).where('id', '=', id).execute());
}

/** Frees the key, so that the same request can be tried again. */
export async function dropAnswer(ctx: Storage, id: number): Promise<void> {
  await inTransaction(ctx.database, (tx) => tx.deleteFrom('keptAnswer').where('id', '=', id).execute());
}

/** Deletes up to `limit` answers of acts that were begun before. @returns how many */
export async function purgeAnswers(ctx: Storage, before: string, limit: number): Promise<number> {
  const old = ctx.database.kysely.selectFrom('keptAnswer').select('id').where('begunAt', '<', before);
  const ids = (await old.orderBy('begunAt').limit(limit).execute()).map(({ id }) => id);
  if (ids.length === 0) return 0;
  await inTransaction(ctx.database, (tx) => tx.deleteFrom('keptAnswer').where('id', 'in', ids).execute());
  return ids.length;
}

function keyText({ key }: KeyedRequest) {
  return `kept_answer.key:${key}`;
}

function requestText({ request }: KeyedRequest) {
  return `kept_answer.request:${request}`;
}

// A power cut must not lose that an act was begun: it would be done twice.
function durably<T>(ctx: Storage, work: (tx: Transaction) => Promise<T>) {
  return inTransaction(ctx.database, work, { isDurable: true });
}

async function findBegun(
  ctx: Storage,
  tx: Transaction,
  given: KeyedRequest,
  keptSince: string,
): Promise<Begun | undefined> {
  const keyDigest = ctx.box.digest(keyText(given));
  await tx.deleteFrom('keptAnswer').where('keyDigest', '=', keyDigest).where('begunAt', '<', keptSince).execute();
  const found = await tx.selectFrom('keptAnswer').selectAll().where('keyDigest', '=', keyDigest).executeTakeFirst();
  if (found === undefined) return undefined;
  if (ctx.box.digest(requestText(given)) !== found.requestDigest) return { outcome: 'other_request' };
  if (found.answer === null) return { outcome: 'under_way' };
  const answer = ctx.box.open(found.answer, keptAnswerContext(found)).toString();
  return { outcome: 'answered', answer: JSON.parse(answer) };
}
