/** A token of the account. Its secret is shown only when it is made. */
export interface TokenRecord {
  id: string;
  name: string | null;
  scopes: string[];
  status: 'active' | 'expired' | 'revoked';
  createdAt: string | null;
  lastUsedAt: string | null;
  /** Null if it never expires. */
  expiresAt: string | null;
}

export interface NewToken {
  /** At most 120 characters. */
  name: string;
  scopes: readonly string[];
  /** In the future; null for never. */
  expiresAt: string | null;
}

export interface CreatedToken {
  token: TokenRecord;
  /** The marketplace shows it only this once. */
  secret: string;
}

/** What a source can do whose tokens can be replaced: all of it, or nothing. */
export interface TokenCalls {
  /** All tokens of the account, without their secrets; those that expired or were revoked too. */
  listTokens(signal: AbortSignal): Promise<TokenRecord[]>;
  /**
   * It must not be repeated: after a failure without a `status` below 500 a token may exist whose secret is lost. Its
   * name finds it.
   *
   * @throws AppError `forbidden` for a scope that the token itself lacks, `conflict` if there are too many tokens
   */
  createToken(wanted: NewToken, signal: AbortSignal): Promise<CreatedToken>;
  /** For good, and at once. It may be repeated. @throws AppError `not_found` if the account has no such token */
  revokeToken(tokenId: string, signal: AbortSignal): Promise<void>;
}
