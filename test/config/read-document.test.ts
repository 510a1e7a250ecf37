import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src/config/read-file.ts';
import { tries } from '../support/tries.ts';

describe('parseJson', () => {
  it('reads every JSON text as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('refuses the same texts as JSON.parse', () => {
    const fragments = ['{', '}', '[', ']', ':', ',', '"', '"a"', '\\', 'u00', '1', '-0', '.5', 'e+'];
    const fragment = fc.constantFrom(...fragments, 'null', 'tru', ' ', '\n', '\u0001', '\u007f', '😀');
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 8 }), (parts) => {
        const text = parts.join('');
        expect(isRefused(parseJson, text), text).toBe(isRefused(JSON.parse, text));
      }),
      { numRuns: tries(20_000) },
    );
  });

  it.each([
    ['', 1, 1, 'expected a value'],
    ['{"a": 1,}', 1, 9, 'expected a key in double quotes'],
    ["{'a': 1}", 1, 2, 'expected a key in double quotes'],
    ['{"a" 1}', 1, 6, 'expected ":"'],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, 'expected "," or "}"'],
    ['{\r\n  // why\r\n}', 2, 3, 'expected a key in double quotes'],
    ['[1 2]', 1, 4, 'expected "," or "]"'],
    ['{"a": secret}', 1, 7, 'expected a value'],
    ['{} {}', 1, 4, 'expected nothing more'],
    ['{"a": 1, "\\u0061": 2}', 1, 10, 'this key is in the object twice'],
    ['[{"a": 1}, {"a": 2, "a": 3}]', 1, 21, 'this key is in the object twice'],
    ['['.repeat(100_000), 1, 102, 'this is nested too deep'],
    ['{"a":'.repeat(100_000), 1, 506, 'this is nested too deep'],
    ['\uFEFF{', 1, 2, 'expected a key in double quotes'],
  ])('says where %.50s is wrong', (text, line, column, problem) => {
    expect(() => parseJson(text)).toThrow(`line ${line}, column ${column}: ${problem}`);
  });
});

function isRefused(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text);
    return false;
  } catch (error) {
    return !String(error).includes('twice');
  }
}
