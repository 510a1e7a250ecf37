import { expect, it } from 'vitest';
import { writeCsv } from '../../src/operations/text-table.ts';

it.each(['=', '+', '-', '@', '\uff1d', '\uff0b', '\uff0d', '\uff20', '\ufe66', '\ufe62', '\ufe63', '\ufe6b', '\u2212'])(
  'let a spreadsheet take a name that begins with %s for a formula',
  (sign) => {
    for (const before of ['', ' ', '\u3000', '\ufeff', '\u200b', '\t'])
      expect(writeCsv([[`${before}${sign}1+1`]])).toBe(`'${before}${sign}1+1\r\n`);
  },
);

it('writes numbers and other texts as they are', () => {
  expect(writeCsv([[-1, null, 'a=1', '', 'Zo\u00eb', "o'neil"]])).toBe("-1,,a=1,,Zo\u00eb,o'neil\r\n");
});
