import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ClaimingInstall,
  chooseAddress,
  type SeatMembership,
  shareSeat,
} from '../../src/memberships/share-seat.ts';

const [ours, theirs] = ['amara@opentrain.work', 'colluder@evil.example'];

function membership(id: number, address: string | null, installs: Record<string, boolean>): SeatMembership {
  const named = Object.entries(installs).map(([name, isNamed]) => [name, { isNamed }] as const);
  return { id, address, isOpen: true, installs: new Map(named) };
}

function claim(install: string, address: string | null, stands = true): ClaimingInstall {
  return { install, address, stands };
}

const letter = fc.constantFrom('a', 'b', 'c');
const anyLetter = fc.option(letter);
const installNames = ['acme', 'globex', 'initech'];
const anyInstalls = fc.dictionary(fc.constantFrom(...installNames), fc.boolean());

/** Memberships under some of these addresses, numbered from 1. */
function anyMemberships(address: fc.Arbitrary<string | null>): fc.Arbitrary<SeatMembership[]> {
  const row = fc.record({ address, installs: anyInstalls, isOpen: fc.boolean() });
  return fc
    .array(row, { maxLength: 4 })
    .map((rows) =>
      rows.map(({ isOpen, ...one }, index) => ({ ...membership(index + 1, one.address, one.installs), isOpen })),
    );
}

describe('which membership the reasons of an install belong to', () => {
  const cases: [string, string | null, SeatMembership[], number | string][] = [
    ['a new one where there is none', ours, [], `for ${ours}`],
    ['a new one that waits where it names no address', null, [], 'waiting'],
    ['that of others who name the same', ours, [membership(1, ours, { globex: true })], 1],
    ['a new one where others name another', ours, [membership(1, theirs, { globex: true })], `for ${ours}`],
    ['the one whose trainer is in, where it names no address', null, [membership(1, theirs, { globex: true })], 1],
    [
      'the one whose trainer is in rather than its own that waits',
      null,
      [membership(1, null, { acme: false }), membership(2, theirs, { globex: true })],
      2,
    ],
    [
      'its own access rather than that of others, once its address is withdrawn',
      null,
      [membership(1, theirs, { globex: true }), membership(2, ours, { acme: true })],
      2,
    ],
    ['the one that its word has given, whatever it names', theirs, [membership(1, ours, { acme: true })], 1],
    [
      'the one that its word has given, also beside another of that address',
      theirs,
      [membership(1, ours, { acme: true }), membership(2, theirs, { globex: true })],
      1,
    ],
    [
      'one of its own with the first address that it names',
      ours,
      [membership(1, theirs, { globex: true, acme: false })],
      `for ${ours}`,
    ],
    ['the one that has waited for its address', ours, [membership(1, null, { acme: false })], 1],
    [
      'that of others rather than one that only waited',
      ours,
      [membership(1, null, { acme: false }), membership(2, ours, { globex: true })],
      2,
    ],
  ];

  it.each(cases)('%s', (_, address, memberships, expected) => {
    expect(shareSeat([claim('acme', address)], memberships).get('acme')).toEqual([expected]);
  });

  it('is none whose trainer is out, if the install names no address', () => {
    const gone = { ...membership(1, theirs, { globex: true, acme: false }), isOpen: false };
    expect(shareSeat([claim('acme', null)], [gone]).get('acme')).toEqual(['waiting']);
  });

  it('is every one that others gave, if the install names no address', () => {
    const given = [membership(1, theirs, { globex: true }), membership(2, ours, { initech: true })];
    expect(shareSeat([claim('acme', null)], given).get('acme')).toEqual([1, 2]);
  });

  it.each([
    ['with that of an install that names its address at the same time', true, [`for ${ours}`]],
    ['not with that of an install whose contract has ended', false, ['waiting']],
  ])('is the same %s', (_, stands, expected) => {
    const claimants = [claim('acme', null), claim('globex', ours, stands)];
    expect(shareSeat(claimants, []).get('acme')).toEqual(expected);
  });

  it('is one for each address, if two installs name different ones', () => {
    const claimants = [claim('acme', ours), claim('globex', theirs)];
    const shared = shareSeat(claimants, [membership(1, null, { acme: false, globex: false })]);
    expect(Object.fromEntries(shared)).toEqual({ acme: [1], globex: [`for ${theirs}`] });
  });

  it('never changes by the address of another install once an address is known', () => {
    fc.assert(
      fc.property(anyMemberships(letter), letter, anyLetter, anyLetter, (all, own, one, other) => {
        const seat = (word: string | null) => shareSeat([claim('acme', own), claim('globex', word)], all).get('acme');
        expect(seat(one)).toEqual(seat(other));
      }),
    );
  });

  it('does not depend on the order of installs', () => {
    const anyClaim = (install: string) =>
      fc.record({ install: fc.constant(install), address: anyLetter, stands: fc.boolean() });
    fc.assert(
      fc.property(anyMemberships(anyLetter), fc.tuple(...installNames.map(anyClaim)), (all, claimants) => {
        const print = (map: Map<string, (number | string)[]>) =>
          Object.fromEntries([...map].map(([install, keys]) => [install, keys.toSorted()]));
        expect(print(shareSeat(claimants, all))).toEqual(print(shareSeat(claimants.toReversed(), all)));
      }),
    );
  });
});

describe('the address that a membership is for', () => {
  const acme = (address: string | null) => ({ install: 'acme', address });
  const globex = (address: string | null) => ({ install: 'globex', address });

  it.each([
    ['what its only install says', ours, [acme(theirs)], theirs],
    ['what one of them still says', ours, [acme(theirs), globex(ours)], ours],
    ['what all of them say by now', ours, [acme(theirs), globex(theirs)], theirs],
    ['what it was where they say different things', ours, [acme('x'), globex('y')], ours],
    ['what it was where no install says anything', ours, [acme(null)], ours],
    ['what an install says where nothing was known', null, [acme(null), globex(ours)], ours],
    ['nothing where no install knows', null, [acme(null)], null],
  ])('is %s', (_, current, standing, expected) => {
    expect(chooseAddress(current, standing)).toBe(expected);
  });
});
