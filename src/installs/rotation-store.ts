import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type { RotationStep } from '../domain/rotation.ts';
import { rotatedTokenContext } from '../keys/seal-contexts.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { changeRevision } from './installs-revision.ts';

/** The replacement of one token of an account, from its beginning. */
export interface Rotation extends Omit<Row<'tokenRotation'>, 'token' | 'scopes'> {
  /** Opened; null until it was made. */
  token: string | null;
  scopes: readonly string[];
}

/** A token that counts instead of another one. */
export interface Replacement {
  token: string;
  /** Of the replaced token, keyed with the new one. */
  replacedDigest: string;
}

export interface NewRotation
  extends Pick<Rotation, 'id' | 'grantId' | 'install' | 'replacedId' | 'name' | 'scopes' | 'expiresAt'> {
  by: By;
}

/** With how many attempts it was seen: who took over has made one more. */
type Attempted = Pick<Rotation, 'id' | 'attempts'>;

export interface MadeToken extends Replacement {
  tokenId: string;
}

/**
 * The only SQL about tokens that are replaced. Each step is left only once: of two processes that take it, the later
 * one gets false, and has changed nothing.
 */
export interface RotationStore {
  /** The tokens that count instead of others, the oldest first. */
  listReplacements(): Promise<Replacement[]>;
  /** The rotation of an account that is under way. */
  find(grantId: string): Promise<Rotation | undefined>;
  /** The accounts whose rotation has a step that is due. */
  listDue(now: string): Promise<string[]>;
  /** @returns false if the account has a rotation under way */
  begin(rotation: NewRotation): Promise<boolean>;
  /** Durable when it resolves: the marketplace may be asked to make the token from now on, by this process alone. */
  attempt(rotation: Attempted, now: string): Promise<boolean>;
  /** Durable when it resolves, because the marketplace shows a secret only once. */
  keep(rotation: Attempted, made: MadeToken): Promise<boolean>;
  /** From now on the new token counts, for every instance that looks. */
  switch(rotation: Rotation, now: string, nextAttemptAt: string): Promise<boolean>;
  /** The new token is not to be used. */
  discard(id: string, now: string): Promise<boolean>;
  /** The old token was revoked. */
  settle(id: string, now: string): Promise<boolean>;
  /** After this nothing remembers it: nothing that it made must work any more. */
  forget(id: string): Promise<void>;
  postpone(id: string, nextAttemptAt: string, failure: { message: string; failures: number } | null): Promise<void>;
}

export function createRotationStore(database: Database, box: SecretBox): RotationStore {
  const { kysely } = database;

  /** @param attempts of which it must not have had more; any number by default */
  async function leave(
    { id, attempts }: Pick<Rotation, 'id'> & Partial<Attempted>,
    from: readonly RotationStep[],
    to: Partial<Row<'tokenRotation'>>,
  ): Promise<boolean> {
    const left = await inTransaction(
      database,
      (tx) => {
        const known = tx.updateTable('tokenRotation').set(to).where('id', '=', id).where('step', 'in', from);
        return (attempts === undefined ? known : known.where('attempts', '=', attempts)).executeTakeFirst();
      },
      { isDurable: true },
    );
    return left.numUpdatedRows > 0n;
  }

  const open = (id: string, token: Buffer) => box.open(token, rotatedTokenContext(id)).toString('utf8');

  return {
    async listReplacements() {
      const rows = await kysely
        .selectFrom('tokenRotation')
        .select(['id', 'token', 'replacedDigest'])
        .where('switchedAt', 'is not', null)
        .orderBy('switchedAt')
        .execute();
      return rows.flatMap(({ id, token, replacedDigest }) =>
        token === null || replacedDigest === null ? [] : [{ token: open(id, token), replacedDigest }],
      );
    },

    async find(grantId) {
      const row = await kysely
        .selectFrom('tokenRotation')
        .selectAll()
        .where('grantId', '=', grantId)
        .where('settledAt', 'is', null)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const token = row.token === null ? null : open(row.id, row.token);
      return { ...row, token, scopes: JSON.parse(row.scopes) as string[] };
    },

    async listDue(now) {
      const due = kysely.selectFrom('tokenRotation').select('grantId').where('nextAttemptAt', '<=', now);
      return (await due.orderBy('nextAttemptAt').execute()).map(({ grantId }) => grantId);
    },

    async begin({ by: { actor, at, origin = null }, scopes, ...rotation }) {
      const row = { ...rotation, scopes: JSON.stringify(scopes), actor, origin, begunAt: at, nextAttemptAt: at };
      const begun = await inTransaction(database, (tx) =>
        tx
          .insertInto('tokenRotation')
          .values({ ...row, step: 'creating', attempts: 0, failures: 0 })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst(),
      );
      return (begun.numInsertedOrUpdatedRows ?? 0n) > 0n;
    },

    attempt: ({ id, attempts }, now) =>
      leave({ id, attempts }, ['creating'], { attempts: attempts + 1, attemptedAt: now }),

    keep: (attempted, { tokenId, token, replacedDigest }) =>
      leave(attempted, ['creating'], {
        step: 'proving',
        tokenId,
        token: box.seal(Buffer.from(token), rotatedTokenContext(attempted.id)),
        replacedDigest,
        failures: 0,
        failure: null,
      }),

    async switch({ id, install, actor, origin, replacedId, tokenId, scopes }, now, nextAttemptAt) {
      return await inTransaction(
        database,
        async (tx) => {
          const switched = await tx
            .updateTable('tokenRotation')
            .set({ step: 'draining', switchedAt: now, nextAttemptAt, failures: 0, failure: null })
            .where('id', '=', id)
            .where('step', '=', 'proving')
            .executeTakeFirst();
          if (switched.numUpdatedRows === 0n) return false;
          await changeRevision(tx);
          const by = { actor, at: now, ...(origin !== null && { origin }) };
          const change = { before: replacedId, after: `${tokenId}: ${scopes.join(' ')}` };
          await writeAudit(tx, by, 'token rotate', install, change);
          return true;
        },
        { isDurable: true },
      );
    },

    discard: (id, now) =>
      leave({ id }, ['creating', 'proving'], { step: 'discarding', nextAttemptAt: now, failures: 0, failure: null }),

    settle: (id, now) =>
      leave({ id }, ['draining'], { step: 'settled', settledAt: now, nextAttemptAt: null, failures: 0, failure: null }),

    async forget(id) {
      await inTransaction(database, (tx) =>
        tx.deleteFrom('tokenRotation').where('id', '=', id).where('switchedAt', 'is', null).execute(),
      );
    },

    async postpone(id, nextAttemptAt, failure) {
      const failed = { failure: failure?.message ?? null, failures: failure?.failures ?? 0 };
      await inTransaction(database, (tx) =>
        tx
          .updateTable('tokenRotation')
          .set({ nextAttemptAt, ...failed })
          .where('id', '=', id)
          .where('settledAt', 'is', null)
          .execute(),
      );
    },
  };
}
