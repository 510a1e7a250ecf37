import { expect, it } from 'vitest';
import { splitCsvLine } from '../../../src/usage/import/read-csv-line.ts';

it.each([
  ['a,b,c', ['a', 'b', 'c']],
  ['', ['']],
  [',', ['', '']],
  ['"a",b', ['a', 'b']],
  ['"a,b","c""d",', ['a,b', 'c"d', '']],
  ['"",""', ['', '']],
  ['"a', null],
  ['a"b', null],
  ['"a"b', null],
  ['"a" ,b', null],
  ['"a""', null],
])('splits the line %s', (line, fields) => {
  expect(splitCsvLine(line, ',')).toEqual(fields);
});
