import { describe, expect, it } from 'vitest';
import type { ConvergeResult } from '../../src/converge/converge-result.ts';
import { confirmResult } from '../../src/converge/converge-result.ts';

const secondLookMs = 60_000;
const noon = '2026-03-15T12:00:00.000Z';
const aMinuteLater = '2026-03-15T12:01:00.000Z';

const out: ConvergeResult = {
  operation: 'remove',
  outcome: 'already_absent',
  state: 'removed',
  isOurs: false,
  nextAttemptAt: null,
};
const unwanted = { wanted: false, state: 'removing', lateUntil: null, missedAt: null } as const;

describe('a look that finds nobody, without a call of ours', () => {
  const look = { lookedAt: noon, isCalled: false, secondLookMs };

  it('is repeated a minute later, and until then the membership stays ours', () => {
    const first = confirmResult(unwanted, out, look);
    expect(first).toMatchObject({ state: 'removing', nextAttemptAt: aMinuteLater });
    expect(first.unconfirmed).toEqual({ lateUntil: null, missedAt: noon });
    expect(first).not.toHaveProperty('isOurs');
  });

  it('is believed the second time', () => {
    const second = { ...look, lookedAt: aMinuteLater };
    expect(confirmResult({ ...unwanted, missedAt: noon }, out, second)).toMatchObject({ state: 'removed' });
  });
});

describe('a call that was answered', () => {
  const look = { lookedAt: noon, isCalled: true, secondLookMs };

  it('is believed at once', () => {
    const unconfirmed = { lateUntil: null, missedAt: null };
    expect(confirmResult(unwanted, out, look)).toEqual({ ...out, unconfirmed });
  });

  it('is followed by another look if an earlier call may still arrive', () => {
    const late = confirmResult({ ...unwanted, lateUntil: aMinuteLater }, out, look);
    expect(late).toMatchObject({ state: 'removing', nextAttemptAt: aMinuteLater });
    expect(late).not.toHaveProperty('isOurs');
  });
});
