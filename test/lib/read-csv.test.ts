import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readCsv, readLines, splitCsvLine } from '../../src/lib/read-csv.ts';
import { writeCsv } from '../../src/operations/text-table.ts';

const options = { purpose: 'read the file', columns: ['name', 'count'], maxLineBytes: 1000 };

async function* toChunks(content: string | Buffer, size = 1): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(content);
  for (let start = 0; start < bytes.length; start += size) {
    yield bytes.subarray(start, start + size);
  }
}

async function readAll(text: string, size?: number) {
  const lines = await Array.fromAsync(readCsv(toChunks(text, size), options));
  return lines.map((line) => Object.fromEntries(line));
}

describe('a CSV file', () => {
  it('is read by the names of its columns, wherever its bytes are cut', async () => {
    const text = '\ufeffcount,name,more\r\n1,"Zoë ""李"" 👩,\r\nx",\r\n\r\n2,b,c\n';
    for (const size of [1, 2, 3, 1000]) {
      expect(await readAll(text, size)).toEqual([
        { count: '1', name: 'Zoë "李" 👩,\r\nx', more: '' },
        { count: '2', name: 'b', more: 'c' },
      ]);
    }
  });

  it('may have a column of any name', async () => {
    const [line] = await Array.fromAsync(readCsv(toChunks('__proto__,name,count\nx,a,1\n'), options));
    expect(line?.get('__proto__')).toBe('x');
  });

  it('is read line by line, before it has ended', async () => {
    let given = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('name,count\n');
      for (;;) {
        given += 1;
        yield Buffer.from(`a,${given}\n`);
      }
    }
    for await (const line of readCsv(endless(), options)) {
      if (line.get('count') === '3') break;
    }
    expect(given).toBeLessThan(10_000);
  });

  it.each([
    ['there is no column "count"', 'name,other\na,1\n'],
    ['it is empty', ''],
    ['line 3 is not CSV (CSV_RECORD_INCONSISTENT_FIELDS_LENGTH)', 'name,count\na,1\nsecret\n'],
    ['line 2 is not CSV (INVALID_OPENING_QUOTE)', 'name,count\nsecret"a",1\n'],
    ['CSV_QUOTE_NOT_CLOSED', 'name,count\n"secret,1\n'],
    ['CSV_MAX_RECORD_SIZE', `name,count\n${'secret'.repeat(1000)},1\n`],
  ])('is refused as %s, without quoting it', async (why, text) => {
    const error: unknown = await readAll(text, 50).catch((failed: unknown) => failed);
    expect(error).toMatchObject({
      code: 'invalid',
      message: expect.stringContaining(`Could not read the file: `) as string,
    });
    expect((error as Error).message).toContain(why);
    expect(inspect(error, { depth: 9 })).not.toContain('secret');
  });

  it('passes on an error of its source', async () => {
    const broken = new Error('broke off');
    async function* breaking(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('name,count\na,1\n');
      throw broken;
    }
    await expect(Array.fromAsync(readCsv(breaking(), options))).rejects.toBe(broken);
  });
});

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

async function readAllLines(bytes: Buffer, size: number) {
  return (await Array.fromAsync(readLines(toChunks(bytes, size), 10))).flat();
}

describe('lines', () => {
  it('are the same wherever their bytes are cut', async () => {
    const bytes = Buffer.from('\ufeffZoë\r\n\n李 👩\nlast');
    for (const size of [1, 2, 3, 1000]) {
      expect(await readAllLines(bytes, size)).toEqual([
        { number: 1, text: 'Zoë' },
        { number: 2, text: '' },
        { number: 3, text: '李 👩' },
        { number: 4, text: 'last' },
      ]);
    }
  });

  it('that are too long or not text do not affect others', async () => {
    const bytes = Buffer.concat([
      Buffer.from('0123456789\n0123456789x\n'),
      Buffer.from([0xff, 0xfe, 0x0a]),
      Buffer.from('x'.repeat(100)),
      Buffer.from('\nlast\n'),
    ]);
    for (const size of [1, 7, 1000]) {
      expect(await readAllLines(bytes, size)).toEqual([
        { number: 1, text: '0123456789' },
        { number: 2, fault: 'is longer than 10 bytes' },
        { number: 3, fault: 'is not UTF-8 text' },
        { number: 4, fault: 'is longer than 10 bytes' },
        { number: 5, text: 'last' },
      ]);
    }
  });
});
