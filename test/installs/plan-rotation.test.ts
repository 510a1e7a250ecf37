import { describe, expect, it } from 'vitest';
import { planExpiry, planScopes, rotateFrom } from '../../src/installs/rotate-token.ts';
import { neededScopes } from '../../src/marketplace/employer/employer-scopes.ts';
import { ownAccountScopes } from '../support/token-world.ts';

const source = { neededScopes };
const dayMs = 86_400_000;

describe('a new token may do', () => {
  it.each<[string, string[], string[], string[]]>([
    ['what is needed, and nothing else', [...ownAccountScopes, 'jobs:write', 'team:read'], [], ownAccountScopes],
    ['of that only what the old one may', ['payments:read', 'team:read'], [], ['payments:read']],
    ['less than to write, where reading is needed', ['payments:write'], [], ['payments:read']],
    ['more where it is asked to', ['payments:write'], ['payments:write'], ['payments:read', 'payments:write']],
  ])('%s', (_, held, keep, scopes) => {
    expect(planScopes(source, held, keep)).toEqual(scopes);
  });

  it('no more than the old one, and not nothing', () => {
    expect(() => planScopes(source, ownAccountScopes, ['payments:write'])).toThrow('The token lacks payments:write');
    expect(() => planScopes(source, ['team:read'], [])).toThrow('none of the needed scopes');
  });
});

describe('a token lives', () => {
  const createdAt = '2026-03-01T00:00:00.000Z';
  const now = new Date('2026-05-01T00:00:00.000Z');

  it.each<[string, string | null, string | null, string | null]>([
    ['for ever', createdAt, null, null],
    ['as long as the one before it', createdAt, '2026-05-30T00:00:00.000Z', '2026-07-30T00:00:00.000Z'],
    ['ninety days where nobody knows since when', null, '2026-05-30T00:00:00.000Z', '2026-07-30T00:00:00.000Z'],
  ])('%s', (_, made, expiresAt, next) => {
    expect(planExpiry({ createdAt: made, expiresAt }, now)).toBe(next);
  });

  it.each([
    [90, 83],
    [21, 14],
    [6, 4],
  ])('%d days, and is replaced after %d', (days, after) => {
    const at = (day: number) => new Date(Date.parse(createdAt) + day * dayMs).toISOString();
    expect(rotateFrom({ createdAt, expiresAt: at(days) })).toBe(at(after));
  });

  it('for ever, and is never due for rotation', () => {
    expect(rotateFrom({ createdAt, expiresAt: null })).toBeNull();
  });
});
