import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatTable } from '../../src/cli/table.ts';
import { stripControl } from '../../src/lib/strip-control.ts';

describe('stripControl', () => {
  it.each([
    ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
    ['cursor moves', 'a\u001b[2Jb\u001b[10;10Hc', 'abc'],
    ['eight-bit sequences', 'a\u009b31mb', 'ab'],
    ['a title for the window', '\u001b]0;owned\u0007x', 'x'],
    ['a link', '\u001b]8;;http://evil\u001b\\click\u001b]8;;\u001b\\', 'click'],
    ['a half sequence', 'a\u001b', 'a'],
    ['a sequence inside a sequence', '\u001b\u001b[31m[31mx', '[31mx'],
    ['lines', 'one\ntwo\r\nthree\u2028four', 'one two three four'],
    ['tabs', 'a\tb', 'a b'],
    ['backspaces and nulls', 'ab\b\u0000c\u007f', 'abc'],
    ['reversed text', 'user\u202etxt.exe', 'usertxt.exe'],
    ['invisible letters', 'a\u200bd\u2060m\u00adin\ufeff', 'admin'],
    ['lone surrogates', 'a\ud800b', 'ab'],
    ['nothing from a name', 'Zoë Đặng 李雷 👩‍👧', 'Zoë Đặng 李雷 👩‍👧'],
  ])('takes %s', (_, hostile, expected) => {
    expect(stripControl(hostile)).toBe(expected);
  });

  it('leaves nothing a terminal acts on, whatever it is given', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\u001b', '[', ']', '\u009b', '31m', '\u0007', '\u001b]8;;', '\n', '\u202e'),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = stripControl(pieces.join(''));
        expect(text).not.toMatch(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
        expect(stripControl(text)).toBe(text);
      }),
    );
  });
});

describe('formatTable', () => {
  it('aligns the columns and leaves no spaces at the end', () => {
    const columns = ['STATE', { title: 'COUNT', align: 'right' as const }, 'NOTE'];
    const rows = [['accepted', 12, 'fine'], ['failed', 3, undefined], ['held']];
    expect(formatTable(columns, rows).split('\n')).toEqual([
      'STATE     COUNT  NOTE',
      'accepted     12  fine',
      'failed        3',
      'held',
    ]);
  });

  it.each([
    ['abcde', 5, 'abcde'],
    ['abcdef', 5, 'abcd…'],
    ['李雷李雷', 8, '李雷李雷'],
    ['李雷李雷', 7, '李雷李…'],
    ['李雷李雷', 6, '李雷…'],
    ['e\u0301e\u0301e\u0301', 2, 'e\u0301…'],
    ['👩‍👧👩‍👧', 3, '👩‍👧…'],
    ['abc', 1, '…'],
    ['\u001b[31mabcdef\u001b[0m', 4, 'abc…'],
  ])('shows %j in %i columns as %j', (cell, maxWidth, expected) => {
    const [, line] = formatTable([{ title: '', maxWidth }], [[cell]]).split('\n');
    expect(line).toBe(expected);
  });

  it('cuts no id, no link and no failure', () => {
    const cells = [
      'ab12'.repeat(30),
      `https://tool.example/${'path/'.repeat(40)}`,
      'x'.repeat(300),
    ];
    expect(
      formatTable(
        ['A'],
        cells.map((cell) => [cell]),
      )
        .split('\n')
        .slice(1),
    ).toEqual(cells);
  });

  it('lines up what stands behind wide characters', () => {
    const rows = [
      ['李雷', 'x'],
      ['Zoe\u0308', 'x'],
      ['👩‍👧', 'x'],
      ['❤️', 'x'],
    ];
    expect(formatTable(['NAME', 'X'], rows).split('\n')).toEqual([
      'NAME  X',
      '李雷  x',
      'Zoe\u0308   x',
      '👩‍👧    x',
      '❤️    x',
    ]);
  });

  it('has one line for each row, whatever stands in it', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.string({ unit: 'binary' }), { maxLength: 4 })), (rows) => {
        expect(formatTable(['A', 'B', 'C'], rows).split('\n')).toHaveLength(rows.length + 1);
      }),
    );
  });

  it('does not let one letter carry a pile of accents', () => {
    const table = formatTable(['A'], [[`a${'\u0301'.repeat(10_000)}`]]);
    expect(table.length).toBeLessThan(40);
  });
});
