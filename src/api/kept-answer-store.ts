import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { keptAnswerContext } from '../db/seal-contexts.ts';
import type { SecretBox } from '../keys/secret-box.ts';

/**
 * The only SQL of what acts were answered with. Of key and request there are keyed digests; the answer is sealed, as it
 * may be an invitation.
 */
export interface KeptAnswerStore {
  /** Takes the key for a request, unless it was taken since `keptSince`. */
  begin(request: KeyedRequest, now: string, keptSince: string): Promise<Begun>;
  /** Keeps the answer for as long as the key is taken. */
  keep(id: number, answer: object): Promise<void>;
  /** Gives the key free, so that the same request can be tried again. */
  drop(id: number): Promise<void>;
  /** Deletes up to `limit` that were begun before. @returns how many */
  purge(before: string, limit: number): Promise<number>;
}

export interface KeyedRequest {
  /** The operator and their key, as one text. */
  key: string;
  /** All of the request that must be the same. */
  request: string;
}

export type Begun =
  | { outcome: 'begun'; id: number }
  | { outcome: 'answered'; answer: unknown }
  | { outcome: 'other_request' | 'under_way' };

export function createKeptAnswerStore(
  database: Database,
  box: Pick<SecretBox, 'seal' | 'open' | 'digest'>,
): KeptAnswerStore {
  const keyText = ({ key }: KeyedRequest) => `kept_answer.key:${key}`;
  const requestText = ({ request }: KeyedRequest) => `kept_answer.request:${request}`;
  // A power cut must not lose that an act was begun: it would be done twice.
  const durably = <T>(work: (tx: Transaction) => Promise<T>) => inTransaction(database, work, { isDurable: true });

  async function find(tx: Transaction, given: KeyedRequest, keptSince: string): Promise<Begun | undefined> {
    const keyDigest = box.digest(keyText(given));
    await tx.deleteFrom('keptAnswer').where('keyDigest', '=', keyDigest).where('begunAt', '<', keptSince).execute();
    const found = await tx.selectFrom('keptAnswer').selectAll().where('keyDigest', '=', keyDigest).executeTakeFirst();
    if (found === undefined) return undefined;
    if (box.digest(requestText(given)) !== found.requestDigest) return { outcome: 'other_request' };
    if (found.answer === null) return { outcome: 'under_way' };
    const answer = box.open(found.answer, keptAnswerContext(found)).toString();
    return { outcome: 'answered', answer: JSON.parse(answer) };
  }

  return {
    begin: (given, now, keptSince) =>
      durably(async (tx) => {
        const found = await find(tx, given, keptSince);
        if (found !== undefined) return found;
        const row = {
          keyDigest: box.digest(keyText(given)),
          requestDigest: box.digest(requestText(given)),
          begunAt: now,
        };
        const inserted = await tx
          .insertInto('keptAnswer')
          .values(row)
          .onConflict((conflict) => conflict.column('keyDigest').doNothing())
          .returning('id')
          .executeTakeFirst();
        // Another request has come in between.
        return inserted === undefined ? { outcome: 'under_way' } : { outcome: 'begun', id: inserted.id };
      }),

    async keep(id, answer) {
      const sealed = box.seal(Buffer.from(JSON.stringify(answer)), keptAnswerContext({ id }));
      await durably((tx) => tx.updateTable('keptAnswer').set({ answer: sealed }).where('id', '=', id).execute());
    },

    async drop(id) {
      await inTransaction(database, (tx) => tx.deleteFrom('keptAnswer').where('id', '=', id).execute());
    },

    async purge(before, limit) {
      const old = database.kysely.selectFrom('keptAnswer').select('id').where('begunAt', '<', before);
      const ids = (await old.orderBy('begunAt').limit(limit).execute()).map(({ id }) => id);
      if (ids.length === 0) return 0;
      await inTransaction(database, (tx) => tx.deleteFrom('keptAnswer').where('id', 'in', ids).execute());
      return ids.length;
    },
  };
}
