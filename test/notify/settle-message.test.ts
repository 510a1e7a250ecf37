import { describe, expect, it } from 'vitest';
import type { MessageResult } from '../../src/notify/channels.ts';
import { settleMessage } from '../../src/notify/notify-worker.ts';

const createdAt = '2026-03-15T12:00:00.000Z';
const longest = () => 1;

function settle(sent: MessageResult, { at = createdAt, attempts = 1 } = {}) {
  return settleMessage({ createdAt, attempts }, sent, new Date(at), longest);
}

const deferred = { outcome: 'deferred', failure: 'answered 503' } as const;
const refused = { outcome: 'refused', failure: 'answered 401' } as const;

describe('a message after an attempt', () => {
  it.each([
    [1, '2026-03-15T12:00:02.000Z'],
    [5, '2026-03-15T12:00:32.000Z'],
    [50, '2026-03-15T13:00:00.000Z'],
  ])('that was deferred %d times waits until %s at the latest', (attempts, nextAttemptAt) => {
    expect(settle(deferred, { attempts })).toMatchObject({ state: 'waiting', nextAttemptAt });
  });

  it('waits as long as the receiver asked', () => {
    const nextAttemptAt = '2026-03-15T12:30:00.000Z';
    expect(settle({ ...deferred, retryAfterMs: 1_800_000 })).toMatchObject({ nextAttemptAt });
  });

  it('that was refused waits for an hour', () => {
    const nextAttemptAt = '2026-03-15T13:00:00.000Z';
    expect(settle(refused)).toMatchObject({ state: 'waiting', nextAttemptAt });
  });

  it.each([deferred, refused])('is tried for the last time after three days: $outcome', (sent) => {
    const nextAttemptAt = '2026-03-18T12:00:00.000Z';
    const late = settle(sent, { at: '2026-03-18T11:59:00.000Z', attempts: 50 });
    expect(late).toMatchObject({ state: 'waiting', nextAttemptAt });
    expect(settle(sent, { at: nextAttemptAt })).toMatchObject({
      state: 'failed',
      nextAttemptAt: null,
      failure: sent.failure,
    });
  });

  it('waits as long as the receiver asked, even beyond the three days', () => {
    const at = '2026-03-18T11:59:00.000Z';
    const nextAttemptAt = '2026-03-18T12:09:00.000Z';
    expect(settle({ ...deferred, retryAfterMs: 600_000 }, { at })).toMatchObject({ nextAttemptAt });
  });

  it('is settled if it arrived, or if the receiver is gone', () => {
    expect(settle({ outcome: 'sent' })).toMatchObject({ state: 'sent', nextAttemptAt: null });
    expect(settle({ outcome: 'gone', failure: 'answered 410' })).toMatchObject({
      state: 'failed',
      nextAttemptAt: null,
    });
  });
});
