import { describe, expect, it } from 'vitest';
import { createSignInLimit } from '../../../src/http/console/sign-in.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const minuteMs = 60_000;

function open() {
  const clock = createFakeClock();
  const limit = createSignInLimit(clock);
  return {
    clock,
    waitMs: limit.waitMs,
    fail(address: string, times = 1) {
      for (let time = 0; time < times; time += 1) limit.noteFailure(address);
    },
  };
}

describe('the limit on signing in', () => {
  it('makes only this address wait after five failures, until the first is a minute old', () => {
    const { clock, waitMs, fail } = open();
    fail('203.0.113.7');
    clock.advance(10_000);
    fail('203.0.113.7', 3);
    expect(waitMs('203.0.113.7')).toBe(0);
    fail('203.0.113.7');
    expect(waitMs('203.0.113.7')).toBe(50_000);
    expect(waitMs('203.0.113.8')).toBe(0);
    clock.advance(50_000);
    expect(waitMs('203.0.113.7')).toBe(0);
  });

  it('allows each address one attempt in a flood of wrong tokens, so that strangers lock nobody out', () => {
    const { clock, waitMs, fail } = open();
    for (let number = 0; number < 100; number += 1) fail(`198.51.100.${number}`);
    expect(waitMs('203.0.113.7')).toBe(0);
    fail('203.0.113.7');
    expect(waitMs('203.0.113.7')).toBe(minuteMs);
    expect(waitMs('203.0.113.8')).toBe(0);
    clock.advance(minuteMs);
    expect(waitMs('203.0.113.7')).toBe(0);
  });

  it.each([
    ['an IPv6 network', '2001:db8::1', '2001:0DB8:0:0:ffff::2', '2001:db8:0:1::1'],
    ['an IPv6 network followed by a full address', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::', '2001:db8:1:3:3:4:5:6'],
    ['an IPv4 address in either form', '203.0.113.7', '::ffff:203.0.113.7', '::ffff:203.0.113.8'],
  ])('counts %s as one', (_, one, same, other) => {
    const { waitMs, fail } = open();
    fail(one, 5);
    expect([waitMs(same), waitMs(other)]).toEqual([minuteMs, 0]);
  });

  it.each(['', 'unknown', '::', '::1', 'fe80::1%eth0', '203.0.113.7:51234'])('accepts %j as an address', (address) => {
    const { waitMs, fail } = open();
    fail(address, 5);
    expect([waitMs(address), waitMs('192.0.2.1')]).toEqual([minuteMs, 0]);
  });

  it('remembers a limited number of failures, and still recognises a flood', () => {
    const { waitMs, fail } = open();
    for (let number = 0; number < 11_000; number += 1) fail(`address ${number}`);
    expect(waitMs('address 0')).toBe(0);
    expect(waitMs('address 10999')).toBe(minuteMs);
  });
});
