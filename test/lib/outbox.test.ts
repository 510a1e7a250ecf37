import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createOutbox, type OutboxParts } from '../../src/lib/outbox.ts';
import { createFakeClock } from '../support/fake-clock.ts';

const hourMs = 3_600_000;
const { signal: never } = new AbortController();

interface Result {
  outcome: 'sent' | 'refused' | 'down';
  retryAfterMs?: number;
}

describe('an outbox', () => {
  const clock = createFakeClock();
  let waiting: string[];
  let settled: string[];
  let result: Result;

  beforeEach(() => {
    [waiting, settled, result] = [['a', 'b', 'c'], [], { outcome: 'sent' }];
  });

  function open(changes: Partial<OutboxParts<string, Result>> = {}) {
    return createOutbox<string, Result>({
      claim: async () => waiting.shift() ?? null,
      send: async () => result,
      settle: async (message, { outcome }) => void settled.push(`${message} ${outcome}`),
      isDown: ({ outcome }) => outcome === 'down',
      longestSendMs: 1000,
      clock,
      ...changes,
    });
  }

  it('sends one message per call, until none is due', async () => {
    const sendNext = open();
    for (const _ of [1, 2, 3]) expect(await sendNext(never)).toBe('more');
    expect(await sendNext(never)).toBe('idle');
    expect(settled).toEqual(['a sent', 'b sent', 'c sent']);
  });

  it('leases a message for twice as long as a send may take', async () => {
    const claim = vi.fn(async () => null);
    await open({ claim })(never);
    const now = clock.now().getTime();
    expect(claim).toHaveBeenCalledWith({
      now: new Date(now).toISOString(),
      leasedUntil: new Date(now + 2000).toISOString(),
    });
  });

  it('does not send a message whose lease ended while this process was frozen', async () => {
    const claim = async () => {
      vi.spyOn(performance, 'now').mockReturnValueOnce(performance.now() + 1001);
      return 'late';
    };
    expect(await open({ claim })(never)).toBe('idle');
    expect(settled).toEqual([]);
  });

  it.each(['refused', 'down'] as const)(
    'leaves open what became of a send that was broken off: %s',
    async (outcome) => {
      result = { outcome };
      expect(await open()(AbortSignal.abort())).toBe('idle');
      expect(settled).toEqual([]);
    },
  );

  it('settles a message that was sent while it was stopping', async () => {
    await open()(AbortSignal.abort());
    expect(settled).toEqual(['a sent']);
  });

  it('pauses while the receiver is down, at least as long as the receiver asked for', async () => {
    result = { outcome: 'down', retryAfterMs: hourMs };
    const sendNext = open();
    expect(await sendNext(never)).toBe('more');
    expect(await sendNext(never)).toBe('idle');
    clock.advance(hourMs);
    result = { outcome: 'refused' };
    expect(await sendNext(never)).toBe('more');
    expect(await sendNext(never)).toBe('more');
    expect(settled).toEqual(['a down', 'b refused', 'c refused']);
  });
});
