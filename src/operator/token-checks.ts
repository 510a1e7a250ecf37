import { rotateFrom } from '../installs/tokens/plan-rotation.ts';
import { toInstant } from '../lib/clock.ts';
import type { Grant } from '../sources/source.ts';
import { maxActiveTokens, type TokenRecord } from '../sources/token-record.ts';
import { type Check, ok, warning } from './doctor-checks.ts';
import { nameOf } from './install-checks.ts';

/** Until when the token of an install works, and whether it can be replaced. */
export function checkTokens(
  install: string,
  { token: used }: Grant,
  tokens: readonly TokenRecord[],
  now: Date,
): Check[] {
  const active = tokens.filter(({ status }) => status === 'active').length;
  const record = tokens.find(({ id }) => id === used?.id);
  const says = `its account has ${active} active tokens, as many as it may have: none can be replaced`;
  return [
    ...(record === undefined ? [] : checkExpiry(install, record, now)),
    ...(active < maxActiveTokens ? [] : [warning(nameOf(install), says, full(install))]),
  ];
}

function checkExpiry(install: string, record: TokenRecord, now: Date): Check[] {
  const { expiresAt } = record;
  const from = rotateFrom(record);
  if (from === null) return [];
  const says = `its token expires at ${expiresAt}`;
  if (toInstant(now) < from) return [ok(nameOf(install), `${says}, and is replaced by itself from ${from} on`)];
  return [warning(nameOf(install), `${says}, and is not replaced yet`, `gangway token rotate ${install}`)];
}

function full(install: string): string {
  return `see which are used: gangway token list ${install}; revoke the others in the settings of the account`;
}
