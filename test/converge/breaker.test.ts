import { describe, expect, it } from 'vitest';
import { createBreaker } from '../../src/converge/throttle.ts';
import type { ErrorCode } from '../../src/domain/errors.ts';
import { createFakeClock } from '../support/fake-clock.ts';

const minuteMs = 60_000;
const checkEveryMs = 10_000;

/** Jitter at its most, so that waits are known: 2 s, 4 s, 8 s, … a minute. */
function openBreaker() {
  const clock = createFakeClock();
  const breaker = createBreaker(clock, () => 1);

  /** Checks where that is due. @returns whether it has opened by that */
  function check(errorCode?: ErrorCode, retryAfterMs?: number): boolean {
    if (!breaker.isCheckDue()) return false;
    breaker.checking();
    return breaker.checked(errorCode === undefined ? {} : { errorCode, retryAfterMs });
  }

  return {
    clock,
    breaker,
    check,
    /** Reports it so often. @returns at which report a check was due for the first time */
    fail(errorCode: ErrorCode, times: number): number | undefined {
      const reports = Array.from({ length: times }, (_, index) => index + 1);
      return reports.find(() => {
        breaker.report({ errorCode });
        return breaker.isCheckDue();
      });
    },
    /** As a tool that is down: all calls fail, and the check does too. */
    goDown(errorCode: ErrorCode = 'unavailable'): void {
      for (let count = 0; count < 5; count += 1) breaker.report({ errorCode });
      if (!check(errorCode)) throw new Error('calls to it are not paused');
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

describe('a tool is checked', () => {
  it('not while it answers', () => {
    const { breaker } = openBreaker();
    for (let count = 0; count < 100; count += 1) breaker.report({});
    expect(breaker.isCheckDue()).toBe(false);
    expect(breaker.isOpen()).toBe(false);
    expect(breaker.isProbeDue()).toBe(false);
  });

  it('after the fifth failure in a row', () => {
    const { fail } = openBreaker();
    expect(fail('unavailable', 10)).toBe(5);
  });

  it.each([undefined, 'invalid', 'not_found', 'conflict', 'internal'] as const)(
    'not where something else comes in between: %s',
    (errorCode) => {
      const { breaker, fail } = openBreaker();
      fail('unavailable', 4);
      breaker.report(errorCode === undefined ? {} : { errorCode });
      expect(fail('unavailable', 4)).toBeUndefined();
    },
  );

  it.each(['invalid', 'not_found', 'conflict', 'too_large', 'internal'] as const)(
    'never for what concerns a person alone: %s',
    (errorCode) => {
      const { fail } = openBreaker();
      expect(fail(errorCode, 50)).toBeUndefined();
    },
  );

  it.each(['unauthenticated', 'forbidden', 'rate_limited'] as const)('at once where it answers %s', (errorCode) => {
    const { fail } = openBreaker();
    expect(fail(errorCode, 1)).toBe(1);
  });

  it('never after a call that is refused for over ten minutes: that concerns the call alone', () => {
    const { breaker, goDown, clock } = openBreaker();
    const errorCode = 'rate_limited';
    for (let count = 0; count < 10; count += 1) {
      breaker.report({ errorCode, retryAfterMs: 10 * minuteMs + 1 });
    }
    expect(breaker.isCheckDue()).toBe(false);
    goDown();
    clock.advance(2000);
    expect(breaker.isProbeDue()).toBe(true);
    breaker.probed(true);
    breaker.report({ errorCode, retryAfterMs: 10 * minuteMs });
    clock.advance(checkEveryMs);
    expect(breaker.isCheckDue()).toBe(true);
  });

  it('once at a time and every ten seconds at most, however often one group is refused', () => {
    const { breaker, fail, check, clock } = openBreaker();
    fail('forbidden', 1);
    breaker.checking();
    expect(fail('forbidden', 10)).toBeUndefined();
    breaker.checked({});
    expect(fail('forbidden', 10)).toBeUndefined();
    clock.advance(checkEveryMs - 1);
    expect(breaker.isCheckDue()).toBe(false);
    clock.advance(1);
    expect(breaker.isCheckDue()).toBe(true);
    check();
    expect(breaker.isOpen()).toBe(false);
  });

  it('later if it was just checked, so that no refusal is ignored', () => {
    const { breaker, fail, check, clock } = openBreaker();
    fail('forbidden', 1);
    check();
    fail('unauthenticated', 1);
    clock.advance(checkEveryMs);
    expect(check('unauthenticated')).toBe(true);
    expect(breaker.isOpen()).toBe(true);
  });
});

describe('calls to a tool are paused', () => {
  it.each(['unavailable', 'unauthenticated', 'forbidden', 'rate_limited'] as const)(
    'where its check fails as well: %s',
    (errorCode) => {
      const { breaker, fail, check } = openBreaker();
      fail('forbidden', 1);
      expect(breaker.isOpen()).toBe(false);
      expect(check(errorCode)).toBe(true);
      expect(breaker.isOpen()).toBe(true);
    },
  );

  it.each([undefined, 'invalid', 'not_found', 'conflict', 'internal'] as const)(
    'not where its check lets us in, or fails with what does not concern it: %s',
    (errorCode) => {
      const { breaker, fail, check } = openBreaker();
      fail('forbidden', 1);
      expect(check(errorCode)).toBe(false);
      expect(breaker.isOpen()).toBe(false);
      expect(breaker.isProbeDue()).toBe(false);
    },
  );

  it('and no check follows, whatever the running calls return', () => {
    const { fail, goDown, clock } = openBreaker();
    goDown();
    clock.advance(checkEveryMs);
    expect(fail('unavailable', 30)).toBeUndefined();
  });
});

describe('one probe at a time asks whether it answers again', () => {
  it('not before the wait is over', () => {
    const { breaker, goDown, clock } = openBreaker();
    goDown();
    clock.advance(1999);
    expect(breaker.isProbeDue()).toBe(false);
    clock.advance(1);
    expect(breaker.isProbeDue()).toBe(true);
  });

  it.each([
    ['a call', 5 * minuteMs, undefined],
    ['its check', undefined, 5 * minuteMs],
  ])('as late as the tool asked for in %s', (_, toCall, toCheck) => {
    const { breaker, check, clock } = openBreaker();
    breaker.report({ errorCode: 'rate_limited', retryAfterMs: toCall });
    expect(check('rate_limited', toCheck)).toBe(true);
    clock.advance(5 * minuteMs - 1);
    expect(breaker.isProbeDue()).toBe(false);
    clock.advance(1);
    expect(breaker.isProbeDue()).toBe(true);
  });

  it('earlier than a single refused call asked for', () => {
    const { breaker, check, goDown, clock } = openBreaker();
    breaker.report({ errorCode: 'rate_limited', retryAfterMs: 5 * minuteMs });
    expect(check()).toBe(false);
    clock.advance(checkEveryMs);
    goDown();
    clock.advance(2000);
    expect(breaker.isProbeDue()).toBe(true);
  });

  it('at most ten minutes later, whatever the check asks for', () => {
    const { breaker, check, fail, clock } = openBreaker();
    fail('forbidden', 1);
    expect(check('rate_limited', 60 * minuteMs)).toBe(true);
    clock.advance(10 * minuteMs);
    expect(breaker.isProbeDue()).toBe(true);
  });

  it('less and less often, down to once a minute', () => {
    const { breaker, goDown, waitMs } = openBreaker();
    goDown();
    const waits = Array.from({ length: 8 }, () => {
      const waited = waitMs();
      breaker.probed(false);
      return waited / 1000;
    });
    expect(waits).toEqual([2, 4, 8, 16, 32, 60, 60, 60]);
    expect(breaker.isOpen()).toBe(true);
  });

  it('is not postponed by failures of running calls', () => {
    const { breaker, goDown, fail, clock } = openBreaker();
    goDown();
    clock.advance(2000);
    fail('unavailable', 5);
    expect(breaker.isProbeDue()).toBe(true);
  });
});

describe('a tool that answers again', () => {
  it('gets calls again', () => {
    const { breaker, goDown, fail } = openBreaker();
    goDown();
    breaker.probed(true);
    expect(breaker.isOpen()).toBe(false);
    expect(breaker.isProbeDue()).toBe(false);
    expect(fail('unavailable', 4)).toBeUndefined();
  });

  it('only to the probe is paused for longer each time', () => {
    const { breaker, goDown, waitMs, clock } = openBreaker();
    const waits = Array.from({ length: 3 }, () => {
      goDown('forbidden');
      const waited = waitMs();
      breaker.probed(true);
      clock.advance(checkEveryMs);
      return waited / 1000;
    });
    expect(waits).toEqual([2, 4, 8]);
  });

  it('to a call starts again with short waits', () => {
    const { breaker, goDown, waitMs, clock } = openBreaker();
    for (const _ of [1, 2, 3]) {
      goDown('forbidden');
      expect(waitMs()).toBe(2000);
      breaker.probed(true);
      breaker.report({});
      clock.advance(checkEveryMs);
    }
  });

  it('with a refusal for one person does not start again with short waits', () => {
    const { breaker, goDown, waitMs, clock } = openBreaker();
    goDown('forbidden');
    waitMs();
    breaker.probed(true);
    breaker.report({ errorCode: 'invalid' });
    clock.advance(checkEveryMs);
    goDown('forbidden');
    expect(waitMs()).toBe(4000);
  });
});
