/** So many tokens of an account may work at the same time (spec: part A section 5). */
export const maxActiveTokens = 25;

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
