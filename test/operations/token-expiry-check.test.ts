import { expect, it } from 'vitest';
import { checkExpiry } from '../../src/operations/check-install.ts';
import type { Grant } from '../../src/sources/source.ts';

const grant: Grant = { id: 'acc_1', status: 'ACTIVE', organizationId: null, token: { id: 'tok_2', scopes: [] } };
const record = { name: null, scopes: [], status: 'active' as const, lastUsedAt: null };
const tokens = (expiresAt: string | null) => [
  { ...record, id: 'tok_1', createdAt: null, expiresAt: '2026-03-02T00:00:00.000Z' },
  { ...record, id: 'tok_2', createdAt: '2026-01-01T00:00:00.000Z', expiresAt },
];

it.each([
  ['nothing of a token that never expires', null, []],
  ['when it expires', '2026-03-09T00:00:00.000Z', ['ok: The token expires at 2026-03-09T00:00:00.000Z']],
  [
    'in the last seven days what to do',
    '2026-03-08T00:00:00.000Z',
    ['warning: The token expires at 2026-03-08T00:00:00.000Z: Run gangway token rotate own'],
  ],
])('doctor says %s', (_, expiresAt, said) => {
  const checks = checkExpiry('own', grant, tokens(expiresAt), new Date('2026-03-01T00:00:00.000Z'));
  expect(checks.map(({ status, says, action }) => [status, says, ...(action ? [action] : [])].join(': '))).toEqual(
    said,
  );
});
