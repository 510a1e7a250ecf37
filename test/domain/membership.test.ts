import { describe, expect, it } from 'vitest';
import {
  decideStep,
  deriveMembership,
  type MembershipState,
  membershipStates,
} from '../../src/domain/membership.ts';

/** `w`anted, has an `e`mail, was `t`ouched; a capital says yes. */
type Flags = `${'w' | 'W'}${'e' | 'E'}${'t' | 'T'}`;
const allFlags = ['wet', 'weT', 'wEt', 'wET', 'Wet', 'WeT', 'WEt', 'WET'] as const;

function toSituation(flags: Flags) {
  return {
    isWanted: flags.includes('W'),
    hasEmail: flags.includes('E'),
    wasTouched: flags.includes('T'),
  };
}

describe('deriveMembership without a membership', () => {
  it.each([
    ['wet', null],
    ['weT', null],
    ['wEt', null],
    ['wET', null],
    ['Wet', 'waiting_email'],
    ['WeT', 'waiting_email'],
    ['WEt', 'pending'],
    ['WET', 'pending'],
  ] as const)('makes of %s: %s', (flags, state) => {
    const made = state === null ? null : { wanted: true, generation: 1, state };
    expect(deriveMembership(null, toSituation(flags))).toEqual(made);
  });
});

describe('deriveMembership of one that was wanted', () => {
  describe.each(membershipStates)('and is %s', (state) => {
    const current = { wanted: true, generation: 4, state };

    it.each(allFlags.filter((flags) => flags.includes('w')))(
      'begins a new generation when it is not any more (%s)',
      (flags) => {
        expect(deriveMembership(current, toSituation(flags))).toEqual({
          wanted: false,
          generation: 5,
          state: flags.includes('T') ? 'removing' : 'removed',
        });
      },
    );

    it.each(allFlags.filter((flags) => flags.includes('W')))(
      'keeps its generation while it still is (%s)',
      (flags) => {
        const { hasEmail } = toSituation(flags);
        const expected = stateWhenStillWanted(state, hasEmail);
        const after = deriveMembership(current, toSituation(flags));
        expect(after).toEqual({ wanted: true, generation: 4, state: expected });
        if (expected === state) expect(after).toBe(current);
      },
    );
  });
});

/** Only what waits for something that may have come is taken up again. */
function stateWhenStillWanted(state: MembershipState, hasEmail: boolean): MembershipState {
  if (state === 'failed') return hasEmail ? 'pending' : 'waiting_email';
  return state === 'waiting_email' && hasEmail ? 'pending' : state;
}

describe('deriveMembership of one that was not wanted', () => {
  const states = membershipStates.filter((state) => state !== 'waiting_email');

  describe.each(states)('and is %s', (state) => {
    const current = { wanted: false, generation: 4, state };

    it.each(allFlags.filter((flags) => flags.includes('W')))(
      'begins a new generation when it is again (%s)',
      (flags) => {
        expect(deriveMembership(current, toSituation(flags))).toEqual({
          wanted: true,
          generation: 5,
          state: flags.includes('E') ? 'pending' : 'waiting_email',
        });
      },
    );

    it.each(allFlags.filter((flags) => flags.includes('w')))(
      'keeps its generation while it is not (%s)',
      (flags) => {
        const expected = state === 'failed' ? { ...current, state: 'removing' } : current;
        expect(deriveMembership(current, toSituation(flags))).toEqual(expected);
      },
    );
  });
});

describe('decideStep', () => {
  const settled = (state: string, outcome: string) => ({ act: 'settle', state, outcome });

  it.each([
    ['wanted', 'ours', 'found', settled('active', 'already_member')],
    ['wanted', 'ours', 'absent', { act: 'call', operation: 'add' }],
    ['wanted', 'not ours', 'found', settled('active', 'already_member')],
    ['wanted', 'not ours', 'absent', { act: 'call', operation: 'add' }],
    ['unwanted', 'ours', 'found', { act: 'call', operation: 'remove' }],
    ['unwanted', 'ours', 'absent', settled('removed', 'already_absent')],
    ['unwanted', 'not ours', 'found', settled('released', 'released')],
    ['unwanted', 'not ours', 'absent', settled('removed', 'already_absent')],
  ])('for somebody %s, %s and %s', (wanted, ours, found, step) => {
    expect(decideStep(wanted === 'wanted', ours === 'ours', found === 'found')).toEqual(step);
  });
});
