import type { Member } from '../adapters/adapter.ts';
import { isSameAddress } from '../lib/same-address.ts';

/** @param accounts that are never touched: addresses, or the tool's ids */
export function isProtected(accounts: readonly string[], { id, email }: Member): boolean {
  return accounts.some((account) => account === id || isSameAddress(account, email));
}
