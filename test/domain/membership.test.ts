import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decideStep,
  deriveMembership,
  heldStates,
  type MembershipCore,
  type MembershipState,
  type MembershipVerdict,
  membershipStates,
} from '../../src/domain/membership.ts';
import { removalCauses } from '../../src/domain/standing.ts';
import { tries } from '../support/tries.ts';

const noon = '2026-03-15T12:00:00.000Z';
const later = '2026-03-15T12:15:00.000Z';
const muchLater = '2026-03-15T12:30:00.000Z';

/** In generation 4, in this state, or `removing until` a time. */
const situations = {
  waiting_email: newCore({ state: 'waiting_email' }),
  pending: newCore({ state: 'pending' }),
  invited: newCore({ state: 'invited' }),
  active: newCore({ state: 'active' }),
  'failed adding': newCore({ state: 'failed' }),
  orphaned: newCore({ state: 'orphaned' }),
  'due for the brake': newEnd({ state: 'removing', removeAfter: later }),
  'let pass': newEnd({ state: 'removing' }),
  'failed removing': newEnd({ state: 'failed' }),
  held: newEnd({ state: 'held' }),
  removed: newCore({ state: 'removed', wanted: false }),
  released: newCore({ state: 'released', wanted: false }),
};

type Situation = keyof typeof situations;
const names = Object.keys(situations) as Situation[];

function newCore(changes: Partial<MembershipCore>): MembershipCore {
  return { wanted: true, generation: 4, state: 'active', install: 'acme', cause: null, removeAfter: null, ...changes };
}

function newEnd(changes: Partial<MembershipCore>): MembershipCore {
  return newCore({ wanted: false, cause: 'link_removed', ...changes });
}

const wanted: MembershipVerdict = { kind: 'wanted', install: 'acme' };
const unlinked: MembershipVerdict = { kind: 'unwanted', install: 'acme', cause: 'link_removed', removeAfter: later };
const ended: MembershipVerdict = { kind: 'unwanted', install: 'acme', cause: 'contract_ended', removeAfter: noon };

/** `state` in the same generation, `state+` in the next, `=` for nothing different at all. */
function summarise(before: MembershipCore, after: MembershipCore | null): string {
  if (after === before) return '=';
  if (after === null) return 'none';
  const step = after.generation - before.generation;
  return `${after.state}${step === 0 ? '' : '+'.repeat(step)}`;
}

describe('deriveMembership', () => {
  it.each<[Situation, email: string, none: string]>([
    ['waiting_email', 'pending', '='],
    ['pending', '=', '='],
    ['invited', '=', '='],
    ['active', '=', '='],
    ['failed adding', 'pending', 'waiting_email'],
    ['orphaned', 'pending+', 'waiting_email+'],
    ['due for the brake', 'pending+', 'waiting_email+'],
    ['let pass', 'pending+', 'waiting_email+'],
    ['failed removing', 'pending+', 'waiting_email+'],
    ['held', 'pending+', 'waiting_email+'],
    ['removed', 'pending+', 'waiting_email+'],
    ['released', 'pending+', 'waiting_email+'],
  ])('turns a wanted one that is %s into %s, and without an address into %s', (name, ...expected) => {
    const results = [true, false].map((hasEmail) =>
      deriveMembership(situations[name], wanted, { hasEmail, wasTouched: true }),
    );
    expect(results.map((after) => summarise(situations[name], after))).toEqual(expected);
    for (const after of results) {
      expect(after).toMatchObject({ wanted: true, cause: null, removeAfter: null });
    }
  });

  it.each<[Situation, touched: string, untouched: string]>([
    ['waiting_email', 'removing+', 'removed+'],
    ['pending', 'removing+', 'removed+'],
    ['invited', 'removing+', 'removed+'],
    ['active', 'removing+', 'removed+'],
    ['failed adding', 'removing+', 'removed+'],
    ['orphaned', 'removing+', 'removed+'],
    ['due for the brake', '=', '='],
    ['let pass', '=', '='],
    ['failed removing', 'removing', 'removing'],
    ['held', '=', '='],
    ['removed', '=', '='],
    ['released', '=', '='],
  ])(
    'turns one that is %s and whose reason ended into %s, and one that was never there into %s',
    (name, ...expected) => {
      const results = [true, false].map((wasTouched) =>
        deriveMembership(situations[name], unlinked, { hasEmail: true, wasTouched }),
      );
      expect(results.map((after) => summarise(situations[name], after))).toEqual(expected);
      for (const after of results) expect(after).toMatchObject({ wanted: false });
    },
  );

  it.each<[Situation, string]>([
    ['due for the brake', 'removing'],
    ['let pass', '='],
    ['failed removing', 'removing'],
    ['held', 'removing+'],
    ['removed', '='],
    ['released', '='],
  ])('turns an unwanted one that is %s into %s on new evidence', (name, expected) => {
    const after = deriveMembership(situations[name], ended, { hasEmail: true, wasTouched: true });
    expect(summarise(situations[name], after)).toBe(expected);
    if (name === 'due for the brake' || name === 'held') {
      expect(after).toMatchObject({ cause: 'contract_ended', removeAfter: noon });
    }
  });

  it.each<[Situation, orphaned: [string, string], managed: [string, string]]>([
    ['waiting_email', ['orphaned+', 'removed+'], ['released+', 'removed+']],
    ['pending', ['orphaned+', 'removed+'], ['released+', 'removed+']],
    ['invited', ['orphaned+', 'removed+'], ['released+', 'removed+']],
    ['active', ['orphaned+', 'removed+'], ['released+', 'removed+']],
    ['failed adding', ['orphaned+', 'removed+'], ['released+', 'removed+']],
    ['orphaned', ['=', '='], ['released+', 'removed+']],
    ['due for the brake', ['orphaned+', 'removed+'], ['released+', 'removed+']],
    ['let pass', ['orphaned+', 'removed+'], ['released+', 'removed+']],
    ['failed removing', ['orphaned+', 'removed+'], ['released+', 'removed+']],
    ['held', ['orphaned+', 'removed+'], ['released+', 'removed+']],
    ['removed', ['=', '='], ['=', '=']],
    ['released', ['=', '='], ['=', '=']],
  ])('leaves one that is %s: orphaned as %j, to the marketplace as %j', (name, ...expected) => {
    const kinds = ['orphaned', 'managed'] as const;
    const results = kinds.map((kind) =>
      [true, false].map((wasTouched) => deriveMembership(situations[name], { kind }, { hasEmail: true, wasTouched })),
    );
    const texts = results.map((pair) => pair.map((after) => summarise(situations[name], after)));
    expect(texts).toEqual(expected);
    // No removal follows from it, and an orphaned membership is still wanted.
    for (const after of results.flat()) {
      expect(after).toMatchObject({ removeAfter: null, cause: null });
      expect(after?.wanted).toBe(after?.state === 'orphaned');
    }
  });

  it.each<[MembershipVerdict, boolean, MembershipState | null]>([
    [wanted, true, 'pending'],
    [wanted, false, 'waiting_email'],
    [unlinked, true, null],
    [ended, true, null],
    [{ kind: 'orphaned' }, true, null],
    [{ kind: 'managed' }, true, null],
  ])('with no membership, for %j and an address %s: %s', (verdict, hasEmail, state) => {
    const made = deriveMembership(null, verdict, { hasEmail, wasTouched: false });
    expect(made).toEqual(state === null ? null : newCore({ generation: 1, state }));
  });
});

describe('an end that is waited for', () => {
  const touched = { hasEmail: true, wasTouched: true };
  const derive = (before: MembershipCore, changes: Partial<Extract<MembershipVerdict, { cause: unknown }>>) =>
    deriveMembership(before, { ...(unlinked as Extract<MembershipVerdict, { cause: unknown }>), ...changes }, touched);
  const waits = situations['due for the brake'];

  it.each(['removing', 'failed'] as const)('begins for one that is %s without a cause', (state) => {
    const left = newCore({ wanted: false, state });
    expect(derive(left, {})).toEqual({ ...waits, removeAfter: later });
  });

  it('begins with its cause, its install and its time', () => {
    expect(derive(situations.active, { install: 'globex' })).toEqual(
      newEnd({ generation: 5, state: 'removing', install: 'globex', removeAfter: later }),
    );
  });

  it('comes sooner if it turns out to have begun earlier', () => {
    expect(derive(waits, { removeAfter: noon })).toEqual({ ...waits, removeAfter: noon });
  });

  it('takes the time of another cause, even if it is later', () => {
    const cause = 'participation_left';
    expect(derive(waits, { cause, removeAfter: muchLater })).toEqual({ ...waits, cause, removeAfter: muchLater });
  });

  it('waits for a link that may take over, and ends if that link does not', () => {
    const waiting = derive(waits, { removeAfter: muchLater });
    expect(waiting).toEqual({ ...waits, removeAfter: muchLater });
    if (waiting === null) throw new Error('there is none');
    expect(derive(waiting, { removeAfter: muchLater })).toBe(waiting);
    expect(derive(waiting, { removeAfter: later })).toEqual(waits);
  });

  it('keeps its generation, so that decisions about it stay valid', () => {
    expect(derive(waits, { removeAfter: noon })).toMatchObject({ generation: 4 });
    expect(derive(situations.held, {})).toBe(situations.held);
  });
});

describe('a trainer who was removed and found again', () => {
  const again = (changes: Partial<MembershipCore>) => newEnd({ cause: 'found_again', removeAfter: later, ...changes });

  it.each([
    ['removing', ended],
    ['removing', unlinked],
    ['held', ended],
    ['held', unlinked],
  ] as const)('stays %s: what ended says nothing new', (state, verdict) => {
    const core = again({ state });
    expect(deriveMembership(core, verdict, { hasEmail: true, wasTouched: true })).toBe(core);
  });

  it('is removed again after a refusal', () => {
    const core = again({ state: 'failed', removeAfter: null });
    expect(deriveMembership(core, ended, { hasEmail: true, wasTouched: true })).toEqual({
      ...core,
      state: 'removing',
    });
  });

  it.each(['removing', 'held', 'failed'] as const)('is wanted again from %s', (state) => {
    const after = deriveMembership(again({ state }), wanted, { hasEmail: true, wasTouched: true });
    expect(after).toMatchObject({ wanted: true, generation: 5, state: 'pending', cause: null });
  });
});

describe('whose membership it is', () => {
  it.each(['waiting_email', 'pending', 'invited', 'active'] as const)(
    'may change for one that is %s, and nothing else does',
    (state) => {
      const before = newCore({ state });
      const hasEmail = state !== 'waiting_email';
      const verdict: MembershipVerdict = { kind: 'wanted', install: 'globex' };
      const after = deriveMembership(before, verdict, { hasEmail, wasTouched: true });
      expect(after).toEqual({ ...before, install: 'globex' });
    },
  );
});

describe('in every situation', () => {
  const instant = fc.constantFrom(noon, later, muchLater);
  const cause = fc.constantFrom(...removalCauses);
  const install = fc.constantFrom('acme', 'globex');
  const core = fc.record<MembershipCore>({
    wanted: fc.boolean(),
    generation: fc.constant(4),
    install,
    state: fc.constantFrom(...membershipStates),
    cause: fc.option(cause),
    removeAfter: fc.option(instant),
  });
  const standing: fc.Arbitrary<MembershipVerdict> = fc.oneof(
    install.map((name): MembershipVerdict => ({ kind: 'wanted', install: name })),
    fc.constantFrom<MembershipVerdict>({ kind: 'orphaned' }, { kind: 'managed' }),
  );
  const verdict: fc.Arbitrary<MembershipVerdict> = fc.oneof(
    standing,
    fc.record({ install, cause, removeAfter: instant }).map((end): MembershipVerdict => ({ kind: 'unwanted', ...end })),
  );
  const situation = fc.record({ hasEmail: fc.boolean(), wasTouched: fc.boolean() });

  it('each change of wanted raises the generation, which never falls', () => {
    fc.assert(
      fc.property(core, verdict, situation, (before, said, known) => {
        const after = deriveMembership(before, said, known);
        const steps = (after?.generation ?? 0) - before.generation;
        expect([0, 1]).toContain(steps);
        if (after?.wanted !== before.wanted) expect(steps).toBe(1);
      }),
      { numRuns: tries(5000) },
    );
  });

  it('the same evidence again changes nothing', () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), verdict, situation, (name, said, known) => {
        const once = deriveMembership(situations[name], said, known);
        expect(deriveMembership(once, said, known)).toBe(once);
      }),
      { numRuns: tries(5000) },
    );
  });

  it('no membership is removed unless a reason ended', () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), standing, situation, (name, said, known) => {
        const after = deriveMembership(situations[name], said, known);
        expect(after).toMatchObject({ removeAfter: null, cause: null });
        expect(after?.state).not.toBe('removing');
      }),
      { numRuns: tries(5000) },
    );
  });
});

describe('heldStates', () => {
  it('are those in which a trainer may be in a tool because of us', () => {
    const others = membershipStates.filter((state) => !(heldStates as readonly string[]).includes(state));
    expect(others).toEqual(['waiting_email', 'removed', 'released']);
  });
});

describe('decideStep', () => {
  const settled = (state: string, outcome: string) => ({ act: 'settle', state, outcome });
  const call = (operation: string) => ({ act: 'call', operation });

  it.each([
    ['wanted', 'ours', 'found', settled('active', 'already_member')],
    ['wanted', 'ours', 'invited', settled('invited', 'already_member')],
    ['wanted', 'ours', 'absent', call('add')],
    ['wanted', 'not ours', 'found', settled('active', 'already_member')],
    ['wanted', 'not ours', 'invited', settled('invited', 'already_member')],
    ['wanted', 'not ours', 'absent', call('add')],
    ['unwanted', 'ours', 'found', call('remove')],
    // An invitation that is not accepted yet is access.
    ['unwanted', 'ours', 'invited', call('remove')],
    ['unwanted', 'ours', 'absent', settled('removed', 'already_absent')],
    ['unwanted', 'not ours', 'found', settled('released', 'released')],
    ['unwanted', 'not ours', 'invited', settled('released', 'released')],
    ['unwanted', 'not ours', 'absent', settled('removed', 'already_absent')],
  ])('for a trainer who is %s, %s and %s', (wish, ours, found, step) => {
    const finding = {
      isOurs: ours === 'ours',
      isFound: found !== 'absent',
      isInvited: found === 'invited',
      isProtected: false,
    };
    expect(decideStep(wish === 'wanted', finding)).toEqual(step);
    const isTouched = finding.isFound;
    expect(decideStep(wish === 'wanted', { ...finding, isProtected: true })).toEqual(
      isTouched ? settled('released', 'protected') : step,
    );
  });
});
