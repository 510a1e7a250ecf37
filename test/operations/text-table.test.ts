import { WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { stripControl } from '../../src/lib/text.ts';
import { formatList, formatTable } from '../../src/operations/text-table.ts';
import { anyText } from '../support/any-text.ts';

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

  it('leaves nothing that a terminal acts on', () => {
    const piece = fc.oneof(
      anyText(),
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
  it('aligns the columns without trailing spaces', () => {
    const columns = ['STATE', { title: 'COUNT', align: 'right' as const }, 'NOTE'];
    const rows = [['accepted', 12, 'fine'], ['failed', 3, undefined], ['held']];
    expect(formatTable(columns, rows).split('\n')).toEqual([
      'STATE     COUNT  NOTE',
      'accepted     12  fine',
      'failed        3',
      'held',
    ]);
  });

  const columns = ['id', 'trainer', 'state', 'why'];
  const trainer = 'usr_ad853a67f418';

  it('wraps the longest text if the table is wider than the terminal', () => {
    const why = 'answered 403: the token may not change members of this project';
    expect(formatTable(columns, [[1, trainer, 'failed', why]], 60).split('\n')).toEqual([
      'id  trainer           state   why',
      '1   usr_ad853a67f418  failed  answered 403: the token may',
      '                              not change members of this',
      '                              project',
    ]);
  });

  it('prints each row as one line into a pipe', () => {
    const why = 'answered 403: the token may not change members of this project '.repeat(5);
    expect(process.stdout.isTTY).toBeUndefined();
    const [titles, row, ...others] = formatTable([...columns, 'next try'], [[1, trainer, 'failed', why]]).split('\n');
    expect(titles).toMatch(/next try$/);
    expect(row).toContain(why.trim());
    expect(others).toEqual([]);
  });

  describe('colours states', () => {
    const states = (): string =>
      formatList(
        ['active', 'waiting_email', 'orphaned', 'held', 'removed', ''],
        [
          ['who', () => 'failed'],
          ['state', (state) => state, { as: 'state' }],
        ],
        'none',
      );
    const plain =
      'who     state\nfailed  active\nfailed  waiting_email\nfailed  orphaned\nfailed  held\nfailed  removed\nfailed';

    afterEach(() => void vi.unstubAllEnvs());

    it('with FORCE_COLOR, and nothing else', () => {
      vi.stubEnv('FORCE_COLOR', '1');
      const lines = states().split('\n').slice(1);
      const painted = [
        ['32', 'active'],
        ['33', 'waiting_email'],
        ['31', 'orphaned'],
        ['35', 'held'],
        ['90', 'removed'],
      ].map(([code, word]) => `failed  \u001b[${code}m${word}\u001b[39m`);
      expect(lines).toEqual([...painted, 'failed']);
      expect(stripVTControlCharacters(states())).toBe(plain);
    });

    it('on a terminal, unless NO_COLOR is set, and never in a pipe', () => {
      expect(states()).toBe(plain);
      const { isTTY } = process.stdout;
      onTestFinished(() => void Object.assign(process.stdout, { isTTY, getColorDepth: undefined }));
      const getColorDepth = WriteStream.prototype.getColorDepth;
      Object.assign(process.stdout, { isTTY: true, getColorDepth });
      expect(states()).not.toBe(plain);
      vi.stubEnv('NO_COLOR', '1');
      expect(states()).toBe(plain);
    });
  });

  it('leaves out empty columns if the table is too wide', () => {
    const [few, none] = ['abcd'.repeat(3), ''];
    expect(formatTable(['a', 'next try', 'b'], [[few, none, few]], 30).split('\n')).toEqual([
      'a             b',
      'abcdabcdabcd  abcdabcdabcd',
    ]);
    expect(formatTable(['a', 'next try', 'b'], [[few, none, few]], 36)).toContain('next try');
  });

  it('uses further lines for each row instead of breaking an id', () => {
    const rows = [
      [1, trainer, 'failed', 'of_one_word_that_is_long'],
      [2, trainer, 'active'],
    ];
    expect(formatTable(columns, rows, 40).split('\n')).toEqual([
      'id  trainer           state',
      '    why',
      '1   usr_ad853a67f418  failed',
      '    of_one_word_that_is_long',
      '2   usr_ad853a67f418  active',
    ]);
  });

  it.each([
    ['a word that is longer than a line', 'x'.repeat(90), /^x{20}$/m],
    ['wide characters', '李雷'.repeat(30), /^李雷李雷李雷李雷李雷$/m],
    ['joined characters', '👩‍👧'.repeat(30), /^(👩‍👧){10}$/m],
  ])('breaks %s, and keeps all of it', (_, cell, line) => {
    const table = formatTable(['A'], [[cell]], 24);
    expect(table).toMatch(line);
    expect(table.split('\n').slice(1).join('')).toBe(cell);
  });

  it('shows instants to the second', () => {
    const rows = [['2026-03-15T12:00:00.123Z'], ['since 2026-03-15T12:00:00.000Z']];
    expect(formatTable(['at'], rows).split('\n').slice(1)).toEqual([
      '2026-03-15T12:00:00Z',
      'since 2026-03-15T12:00:00Z',
    ]);
  });

  it('is never wider than the terminal, and keeps all of every cell', () => {
    const word = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 60 });
    const cell = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '));
    const table = fc.array(fc.array(cell, { minLength: 7, maxLength: 7 }), { maxLength: 4 });
    fc.assert(
      fc.property(table, fc.integer({ min: 30, max: 120 }), (rows, width) => {
        const text = formatTable([...'ABCDEFG'], rows, width);
        for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(width);
        const sorted = (all: string) => [...all.replace(/\s/g, '')].sort().join('');
        const titles = 'ABCDEFG'.split('').filter((_, at) => rows.some((row) => row[at]?.trim()));
        const shown = sorted(text);
        const whole = sorted(`ABCDEFG${rows.flat().join('')}`);
        expect([whole, sorted([...titles, ...rows.flat()].join(''))]).toContain(shown);
      }),
      { examples: [[[['', '', ' '.repeat(18), ' '.repeat(8), '', ' '.repeat(6), '']], 30]] },
    );
  });

  it('cuts no id, no link and no failure', () => {
    const cells = ['ab12'.repeat(30), `https://tool.example/${'path/'.repeat(40)}`, 'x'.repeat(300)];
    const rows = cells.map((cell) => [cell]);
    const [, ...lines] = formatTable(['A'], rows).split('\n');
    // What is wider than the terminal goes on in the next line.
    expect(lines.join('')).toBe(cells.join(''));
  });

  it('aligns columns after wide characters', () => {
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

  it('has one line for each row, whatever the cells contain', () => {
    fc.assert(
      fc.property(fc.array(fc.array(anyText(), { maxLength: 4 })), (rows) => {
        expect(formatTable(['A', 'B', 'C'], rows).split('\n')).toHaveLength(rows.length + 1);
      }),
    );
  });

  it('limits the accents of one letter', () => {
    const table = formatTable(['A'], [[`a${'\u0301'.repeat(10_000)}`]]);
    expect(table.length).toBeLessThan(40);
  });

  it('shows an age in its largest unit', () => {
    const ages = [1500, 100_000, 7_100_000, 7_300_000, 200_000_000].map((ms) => ({
      at: new Date(Date.now() - ms).toISOString(),
    }));
    const text = formatList([...ages, { at: null }], [['age', ({ at }) => at, { as: 'age' }]], '');
    expect(text.split('\n').slice(1)).toEqual(['1 s', '100 s', '118 min', '2 h', '2 d', '']);
  });
});
