import { describe, expect, it } from 'vitest';
import { isAccountMadeByUs } from '../../src/converge/ownership.ts';

const noon = '2026-03-15T12:00:00.000Z';
const later = '2026-03-15T12:00:05.000Z';
const email = 'amara@opentrain.work';

/** A call was made at noon under the address. */
function claimOf(wasAbsent: boolean | null) {
  const given = { id: 1, install: 'acme', address: email, isCurrent: true, givenAt: noon, wasAbsent };
  return { isOurs: false, memberId: null, email, addresses: [given] };
}

describe('an account is made by us', () => {
  it.each<[string, boolean | null, string | undefined, boolean]>([
    ['if none was there before', true, undefined, true],
    ['if the tool made it after the call', null, later, true],
    ['not if it was there before, whatever its age', false, later, false],
    ['not if it may have been there before', null, undefined, false],
    ['not if it is older than the call', true, '2026-03-14T12:00:00.000Z', false],
  ])('%s', (_, wasAbsent, madeAt, isMade) => {
    const found = { id: '7', email, ...(madeAt !== undefined && { madeAt }) };
    expect(isAccountMadeByUs(claimOf(wasAbsent), found)).toBe(isMade);
  });
});
