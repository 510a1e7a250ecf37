import { describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../src/domain/errors.ts';
import { createBreaker } from '../../src/engine/breaker.ts';
import { createFakeClock } from '../support/fake-clock.ts';

const minuteMs = 60_000;

/** Jitter at its most, so that waits are known: 2 s, 4 s, 8 s, … a minute. */
function openBreaker() {
  const clock = createFakeClock();
  const breaker = createBreaker(clock, () => 1);
  return {
    ...{ clock, breaker },
    /** @returns at which report it opened */
    fail(errorCode: ErrorCode, times: number): number[] {
      const reports = Array.from({ length: times }, (_, index) => index + 1);
      return reports.filter(() => breaker.report({ errorCode }));
    },
    /** How long from now no probe is due. */
    waitMs(): number {
      for (let ms = 0; ms <= 10 * minuteMs; ms += 500) {
        if (breaker.isProbeDue()) return ms;
        clock.advance(500);
      }
      return Number.POSITIVE_INFINITY;
    },
  };
}

describe('a tool is left alone', () => {
  it('not while it answers', () => {
    const { breaker } = openBreaker();
    for (let count = 0; count < 100; count += 1) expect(breaker.report({})).toBe(false);
    expect(breaker.isOpen()).toBe(false);
    expect(breaker.isProbeDue()).toBe(false);
  });

  it('after the fifth failure in a row', () => {
    const { breaker, fail } = openBreaker();
    expect(fail('unavailable', 4)).toEqual([]);
    expect(breaker.isOpen()).toBe(false);
    expect(fail('unavailable', 1)).toEqual([1]);
    expect(breaker.isOpen()).toBe(true);
  });

  it.each([undefined, 'invalid', 'not_found', 'conflict', 'internal'] as const)(
    'not where something else comes in between: %s',
    (errorCode) => {
      const { breaker, fail } = openBreaker();
      fail('unavailable', 4);
      breaker.report(errorCode === undefined ? {} : { errorCode });
      fail('unavailable', 4);
      expect(breaker.isOpen()).toBe(false);
    },
  );

  it.each(['invalid', 'not_found', 'conflict', 'too_large', 'internal'] as const)(
    'never for what concerns a person alone: %s',
    (errorCode) => {
      const { breaker, fail } = openBreaker();
      fail(errorCode, 50);
      expect(breaker.isOpen()).toBe(false);
    },
  );

  it.each(['unauthenticated', 'forbidden', 'rate_limited'] as const)(
    'at once where it answers %s',
    (errorCode) => {
      const { breaker, fail } = openBreaker();
      expect(fail(errorCode, 1)).toEqual([1]);
      expect(breaker.isOpen()).toBe(true);
    },
  );

  it('and that is told once, whatever was under way comes back with', () => {
    const { fail } = openBreaker();
    expect(fail('unavailable', 30)).toEqual([5]);
  });
});

describe('one probe at a time asks whether it answers again', () => {
  it('not before its wait is over', () => {
    const { breaker, fail, clock } = openBreaker();
    fail('forbidden', 1);
    clock.advance(1999);
    expect(breaker.isProbeDue()).toBe(false);
    clock.advance(1);
    expect(breaker.isProbeDue()).toBe(true);
  });

  it('as late as the tool asked for', () => {
    const { breaker, clock } = openBreaker();
    breaker.report({ errorCode: 'rate_limited', retryAfterMs: 5 * minuteMs });
    clock.advance(5 * minuteMs - 1);
    expect(breaker.isProbeDue()).toBe(false);
    clock.advance(1);
    expect(breaker.isProbeDue()).toBe(true);
  });

  it('ever less often while it does not, and once a minute in the end', () => {
    const { breaker, fail, waitMs } = openBreaker();
    fail('unavailable', 5);
    const waits = Array.from({ length: 8 }, () => {
      const waited = waitMs();
      breaker.probed(false);
      return waited / 1000;
    });
    expect(waits).toEqual([2, 4, 8, 16, 32, 60, 60, 60]);
    expect(breaker.isOpen()).toBe(true);
  });

  it('is not put off by failures of what was under way', () => {
    const { breaker, fail, clock } = openBreaker();
    fail('unavailable', 5);
    clock.advance(2000);
    fail('unavailable', 5);
    expect(breaker.isProbeDue()).toBe(true);
  });
});

describe('a tool that answers again', () => {
  it('is worked on', () => {
    const { breaker, fail } = openBreaker();
    fail('unavailable', 5);
    breaker.probed(true);
    expect(breaker.isOpen()).toBe(false);
    expect(breaker.isProbeDue()).toBe(false);
    expect(fail('unavailable', 4)).toEqual([]);
  });

  it('to the probe alone is left alone for ever longer', () => {
    const { breaker, fail, waitMs } = openBreaker();
    const waits = Array.from({ length: 3 }, () => {
      fail('forbidden', 1);
      const waited = waitMs();
      breaker.probed(true);
      return waited / 1000;
    });
    expect(waits).toEqual([2, 4, 8]);
  });

  it('to a call is forgiven', () => {
    const { breaker, fail, waitMs } = openBreaker();
    for (const _ of [1, 2, 3]) {
      fail('forbidden', 1);
      expect(waitMs()).toBe(2000);
      breaker.probed(true);
      breaker.report({});
    }
  });

  it('with a refusal for one person is not thereby forgiven', () => {
    const { breaker, fail, waitMs } = openBreaker();
    fail('forbidden', 1);
    waitMs();
    breaker.probed(true);
    breaker.report({ errorCode: 'invalid' });
    fail('forbidden', 1);
    expect(waitMs()).toBe(4000);
  });
});
