import { AppError } from '../../domain/errors.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { Call, Operation } from '../http/caller.ts';
import { toSegment } from '../http/id-segment.ts';
import { listWhole } from '../http/list-whole.ts';
import type { TokenCalls, TokenRecord } from '../token-record.ts';
import {
  CreatedTokenAnswer as CreatedToken,
  type CreatedTokenAnswer,
  RevokedTokenAnswer as RevokedToken,
  type RevokedTokenAnswer,
  type Token,
  TokenList,
} from './employer-schema.ts';

/** The tokens of an account (spec: part A section 4.2). They need no scope, and no claim. */
export function createTokenCalls(call: Call, clock: Clock = systemClock): TokenCalls {
  return {
    async listTokens(signal) {
      const purpose = 'list the tokens';
      return await listWhole<TokenRecord>({
        path: '/tokens',
        purpose,
        keyOf: ({ id }) => id,
        async readPage(path) {
          const { tokens, ...paging } = await call({ path, purpose, answer: TokenList }, signal);
          return { records: tokens.map((token) => toRecord(token, clock.now())), ...paging };
        },
      });
    },

    async createToken({ name, scopes, expiresAt }, signal) {
      const operation: Operation<CreatedTokenAnswer> = {
        method: 'POST',
        path: '/tokens',
        body: { name, scopes, ...(expiresAt !== null && { expiresAt }) },
        isSentOnce: true,
        purpose: 'create a token',
        answer: CreatedToken,
      };
      const { token, metadata } = await call(operation, signal);
      return { token: toRecord(metadata, clock.now()), secret: token };
    },

    async revokeToken(tokenId, signal) {
      const purpose = 'revoke a token';
      const operation: Operation<RevokedTokenAnswer> = {
        method: 'DELETE',
        path: `/tokens/${toSegment(tokenId)}`,
        purpose,
        answer: RevokedToken,
      };
      const { token } = await call(operation, signal);
      if (token.id === tokenId && token.status === 'revoked') return;
      throw new AppError('invalid', `Could not ${purpose}: the answer does not say that it is revoked`);
    },
  };
}

/** What is neither active nor expired does not work (any more), whatever a newer word says. */
function toRecord({ status, expiresAt = null, createdAt, lastUsedAt, ...token }: Token, now: Date): TokenRecord {
  const hasExpired = status === 'expired' || (expiresAt !== null && Date.parse(expiresAt) <= now.getTime());
  const works = status === 'active' ? 'active' : 'revoked';
  return {
    ...token,
    status: status !== 'revoked' && hasExpired ? 'expired' : works,
    createdAt: createdAt ?? null,
    lastUsedAt: lastUsedAt ?? null,
    expiresAt,
  };
}
