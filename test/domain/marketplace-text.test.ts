import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toEmail, toId, toInstantText, toText } from '../../src/domain/marketplace-text.ts';
import { anyText } from '../support/any-text.ts';

const notText = [undefined, null, true, {}, [], ['a'], Symbol('a'), () => 'a'];

describe('toId', () => {
  it.each([
    ['cmc1', 'cmc1'],
    ['__proto__', '__proto__'],
    ['../../etc/passwd', '../../etc/passwd'],
    ["'; drop table link; --", "'; drop table link; --"],
    ['李雷', '李雷'],
    ['x'.repeat(200), 'x'.repeat(200)],
    [0, '0'],
    [7_000_000_001, '7000000001'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ])('takes %j', (value, id) => {
    expect(toId(value)).toBe(id);
  });

  it.each([
    '',
    'x'.repeat(201),
    'a\u0000b',
    'a\nb',
    'a\u001b[31m',
    'a\u0085b',
    'a\u007f',
    'a\ud800',
    Number.MAX_SAFE_INTEGER + 1,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    ...notText,
  ])('refuses %j', (value) => {
    expect(toId(value)).toBeUndefined();
  });

  it('never turns two numbers into one', () => {
    const [a, b] = [JSON.parse('9007199254740992'), JSON.parse('9007199254740993')];
    expect([toId(a), toId(b)]).toEqual([undefined, undefined]);
  });
});

describe('toText', () => {
  it.each([
    ['Amara O.', 'Amara O.'],
    ['  Amara  ', 'Amara'],
    ['a\u0000\u0007b', 'a b'],
    ['one\r\ntwo\tthree', 'one two three'],
    ['\u001b[31mred\u001b[0m', '[31mred [0m'],
    ['\u009b31mred', '31mred'],
    ['Straße — “zwei” 🚦', 'Straße — “zwei” 🚦'],
    ['<script>alert(1)</script>', '<script>alert(1)</script>'],
    ['a\ud800b', 'a\ufffdb'],
    ['x'.repeat(501), 'x'.repeat(500)],
    [`${'x'.repeat(499)}😀`, `${'x'.repeat(499)}\ufffd`],
  ])('makes of %j: %j', (value, text) => {
    expect(toText(value)).toBe(text);
  });

  it.each(['', '   ', '\u0000\u001b\n', 0, ...notText])('has none for %j', (value) => {
    expect(toText(value)).toBeUndefined();
  });

  it('has nothing that a database or a line cannot hold', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 600 }), (value) => {
        const text = toText(value) ?? 'x';
        expect(text).not.toMatch(/\p{Cc}/u);
        expect(text.isWellFormed() && text.length > 0 && text.length <= 500).toBe(true);
      }),
    );
  });
});

describe('toEmail', () => {
  it.each([
    'amara.o@opentrain.work',
    'Amara+tag@OpenTrain.Work',
    "o'neil@opentrain.work",
    'zoë@exämple.de',
    `${'x'.repeat(64)}@${'y'.repeat(180)}.work`,
  ])('takes %j as it is', (address) => {
    expect(toEmail(address)).toBe(address);
  });

  it.each([
    '',
    'amara',
    'amara@',
    '@opentrain.work',
    'amara@opentrain',
    'a b@opentrain.work',
    'a@b@opentrain.work',
    'Amara <amara@opentrain.work>',
    '"amara"@opentrain.work',
    'amara@opentrain.work,eve@evil.example',
    'amara@opentrain.work;eve@evil.example',
    'amara@opentrain.work\r\nBcc: eve@evil.example',
    'amara@opentrain.work\n',
    ' amara@opentrain.work',
    'amara\u0000@opentrain.work',
    'amara\u0007@opentrain.work',
    'amara\ud800@opentrain.work',
    `${'x'.repeat(250)}@opentrain.work`,
    42,
    ...notText,
  ])('refuses %j', (value) => {
    expect(toEmail(value)).toBeUndefined();
  });
});

describe('toInstantText', () => {
  it.each([
    ['2026-03-15T12:00:00.000Z', '2026-03-15T12:00:00.000Z'],
    ['2026-03-15T12:00:00Z', '2026-03-15T12:00:00.000Z'],
    ['2026-03-15t12:00:00z', '2026-03-15T12:00:00.000Z'],
    ['2026-03-15T12:00:00.123456Z', '2026-03-15T12:00:00.123Z'],
    ['2026-03-15T14:00:00+02:00', '2026-03-15T12:00:00.000Z'],
    ['2026-03-15 14:00:00+0200', '2026-03-15T12:00:00.000Z'],
  ])('makes of %j: %j', (value, instant) => {
    expect(toInstantText(value)).toBe(instant);
  });

  it.each([
    '',
    'yesterday',
    '1',
    '2026',
    '2026-03-15',
    '2026-03-15T12:00:00',
    '2026-13-15T12:00:00Z',
    '2026-03-15T25:00:00Z',
    '+275760-09-13T00:00:00Z',
    '-000001-01-01T00:00:00Z',
    // In these zones they are in the years 10000 and -1, whose texts sort before all others.
    '9999-12-31T23:59:59-23:59',
    '0000-01-01T00:00:00+23:59',
    `2026-03-15T12:00:00.${'0'.repeat(40)}Z`,
    1_773_576_000_000,
    ...notText,
  ])('has none for %j', (value) => {
    expect(toInstantText(value)).toBeUndefined();
  });

  it('sorts like time', () => {
    const date = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-30T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(date, date, (a, b) => {
        const [left, right] = [toInstantText(a.toISOString()), toInstantText(b.toISOString())];
        expect((left ?? '') < (right ?? '')).toBe(a < b);
      }),
    );
  });
});
