import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withoutLinks } from '../../src/lib/text.ts';
import { tries } from '../support/tries.ts';

describe('a text without links', () => {
  it.each([
    'https://evil.example/login',
    'HTTP://EVIL.EXAMPLE',
    'hxxp://evil',
    '(https://evil.example)',
    'www.evil.example',
    'WWW2.EVIL',
    'evil.com',
    'Evil.com',
    'evil.com/path?a=b',
    'evil.com:8080',
    'evil.com.',
    'a.b.evil.museum',
    'evil。com',
    'evil．com',
    'evil｡com',
    'evil․com',
    'ｅｖｉｌ．ｃｏｍ',
    'evil.\u200dcom',
    'evil.co\u00admm',
    'xn--e1awd7f.xn--p1ai',
    'Пример.рф',
    '👍.ws',
    'see:evil.com',
    'all@example.com',
    'root@localhost',
    'mailto:trainer',
    'tel:+4912345',
    '//evil',
    '\\\\evil\\share',
    '192.0.2.17',
    'http://192.0.2.17',
    '192。0。2。17',
  ])('shows nothing of %j', (address) => {
    expect(withoutLinks(address)).toBe('…');
    expect(withoutLinks(`Eve ${address} is here`)).toBe('Eve … is here');
  });

  it.each([
    ['J.R. Tolkien', 'J.R. Tolkien'],
    ['J.R.R.Tolkien', 'J.R.R. Tolkien'],
    ['St. Pauli', 'St. Pauli'],
    ['Street signs v1.2', 'Street signs v1.2'],
    ['Street signs v1.2.10', 'Street signs v1.2.10'],
    ['Amara O.', 'Amara O.'],
    ['Dr.Smith', 'Dr. Smith'],
    ['Part 2.b, 3.5 % (of 10.000)', 'Part 2.b, 3.5 % (of 10.000)'],
    ['.NET and C++', '.NET and C++'],
    ['ASP.NET', 'ASP. NET'],
    ['Wait... what?', 'Wait... what?'],
    ["O'Neil & Söhne / 3:2", "O'Neil & Söhne / 3:2"],
    ['道路標識。第二弾', '道路標識. 第二弾'],
    ['李雷 👩‍👧 Zoë', '李雷 👩‍👧 Zoë'],
    ['Note: tel. is @home', 'Note: tel. is @home'],
    ['', ''],
  ])('leaves %j readable, as %j', (text, shown) => {
    expect(withoutLinks(text)).toBe(shown);
  });

  it('has nothing that a program would turn into a link', () => {
    const piece = fc.oneof(
      fc.constantFrom('.', '。', '．', '｡', '․', '@', ':', '//', ' ', 'www', 'http', 'mailto:'),
      fc.constantFrom('evil', 'com', 'COM', 'xn--', 'рф', '1', '192', '\u200d', '\u00ad', 'ｃ'),
      fc.string({ unit: 'grapheme', maxLength: 4 }),
    );
    const text = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, (given) => {
        const shown = withoutLinks(given)
          .normalize('NFKC')
          .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
          .replace(/[。․]/g, '.');
        expect(shown).not.toMatch(/:\/\/|www\.|\S@\S|mailto:\S/i);
        expect(shown).not.toMatch(/[\p{L}\p{N}]\.(\p{L}\p{L}|xn--)/iu);
        expect(shown).not.toMatch(/(^|\D)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(\D|$)/);
      }),
      { numRuns: tries(3000) },
    );
  });
});
