import { createHash } from 'node:crypto';
import type { Storage } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { replacedTokenContext } from '../db/seal-contexts.ts';

// The only SQL about replaced tokens. A replacement is used for every install with the original token, in the
// configuration or in the database. As soon as an operator puts another token there, that token is used.

/** The token that is used instead of a replaced one. */
export interface Replacement {
  token: string;
  /** The marketplace's id of it. */
  tokenId: string;
  /** The id of the token that was in use before it, and is revoked last. */
  replacedId: string;
}

export interface NewReplacement {
  /** The token as it is configured or connected. */
  original: string;
  /** The replacement that was found before the new token was created. */
  before: Replacement | undefined;
  next: Replacement;
  install: string;
  scopes: readonly string[];
  by: By;
}

export async function findReplacement(ctx: Storage, original: string): Promise<Replacement | undefined> {
  const digest = tokenDigest(original);
  const row = await ctx.database.kysely
    .selectFrom('replacedToken')
    .selectAll()
    .where('digest', '=', digest)
    .executeTakeFirst();
  return row && { ...row, token: ctx.box.open(row.token, replacedTokenContext({ digest })).toString('utf8') };
}

/** The token to send now: the replacement, or the original if it was never replaced. */
export async function currentToken(ctx: Storage, original: string): Promise<string> {
  return (await findReplacement(ctx, original))?.token ?? original;
}

/** Durable when it resolves. @returns false if another process has stored a replacement since `before` */
export async function saveReplacement(
  ctx: Storage,
  { original, before, next, install, scopes, by }: NewReplacement,
): Promise<boolean> {
  const digest = tokenDigest(original);
  const row = { ...next, token: ctx.box.seal(Buffer.from(next.token), replacedTokenContext({ digest })) };
  return await inTransaction(
    ctx.database,
    async (tx) => {
      const saved = await tx
        .insertInto('replacedToken')
        .values({ digest, ...row })
        .onConflict((conflict) =>
          conflict
            .column('digest')
            .doUpdateSet(row)
            .where('replacedToken.tokenId', '=', before?.tokenId ?? ''),
        )
        .returning('digest')
        .executeTakeFirst();
      if (saved === undefined) return false;
      const change = { before: next.replacedId, after: `${next.tokenId}: ${scopes.join(' ')}` };
      await writeAudit(tx, by, 'token rotate', install, change);
      return true;
    },
    { isDurable: true },
  );
}

/** A token is random and long, so its digest does not help to guess it. */
export function tokenDigest(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
