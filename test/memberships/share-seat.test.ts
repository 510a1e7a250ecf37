import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseAddress, type SeatMembership, shareSeat } from '../../src/memberships/share-seat.ts';

const [ours, theirs] = ['amara@opentrain.work', 'colluder@evil.example'];

function membership(id: number, address: string | null, installs: Record<string, boolean>): SeatMembership {
  const named = Object.entries(installs).map(([name, isNamed]) => [name, { isNamed }] as const);
  return { id, address, isWanted: true, installs: new Map(named) };
}

describe('which membership the reasons of an install belong to', () => {
  const cases: [string, string | null, SeatMembership[], number | string][] = [
    ['a new one where there is none', ours, [], `for ${ours}`],
    ['a new one of its own where it names no address', null, [], 'of acme'],
    ['that of others who name the same', ours, [membership(1, ours, { globex: true })], 1],
    ['a new one where others name another', ours, [membership(1, theirs, { globex: true })], `for ${ours}`],
    ['the one whose trainer is in, where it names no address', null, [membership(1, theirs, { globex: true })], 1],
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
    expect(shareSeat([{ install: 'acme', address }], memberships).get('acme')).toBe(expected);
  });

  it('is not one whose trainer is out, where it names no address', () => {
    const gone = { ...membership(1, theirs, { globex: true }), isWanted: false };
    expect(shareSeat([{ install: 'acme', address: null }], [gone]).get('acme')).toBe('of acme');
  });

  it("is never moved by another install's word", () => {
    const address = fc.option(fc.constantFrom('a', 'b', 'c'));
    const installs = fc.dictionary(fc.constantFrom('acme', 'globex', 'initech'), fc.boolean());
    const memberships = fc.array(fc.record({ address, installs, isWanted: fc.boolean() }), {
      maxLength: 4,
    });
    fc.assert(
      fc.property(memberships, address, address, address, (given, own, one, other) => {
        const all = given.map((row, index) => ({
          ...membership(index + 1, row.address, row.installs),
          isWanted: row.isWanted,
        }));
        const seat = (word: string | null) =>
          shareSeat(
            [
              { install: 'acme', address: own },
              { install: 'globex', address: word },
            ],
            all,
          ).get('acme');
        expect(seat(one)).toBe(seat(other));
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
