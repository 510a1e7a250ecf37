import { describe, expect, it } from 'vitest';
import { readLines } from '../../src/lib/read-csv.ts';

async function* toChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) {
    yield bytes.subarray(start, start + size);
  }
}

const readAll = async (bytes: Buffer, size: number) =>
  (await Array.fromAsync(readLines(toChunks(bytes, size), 10))).flat();

describe('lines', () => {
  it('are the same wherever their bytes are cut', async () => {
    const bytes = Buffer.from('\ufeffZoë\r\n\n李 👩\nlast');
    for (const size of [1, 2, 3, 1000]) {
      expect(await readAll(bytes, size)).toEqual([
        { number: 1, text: 'Zoë' },
        { number: 2, text: '' },
        { number: 3, text: '李 👩' },
        { number: 4, text: 'last' },
      ]);
    }
  });

  it('that are too long or no text spoil no other', async () => {
    const bytes = Buffer.concat([
      Buffer.from('0123456789\n0123456789x\n'),
      Buffer.from([0xff, 0xfe, 0x0a]),
      Buffer.from('x'.repeat(100)),
      Buffer.from('\nlast\n'),
    ]);
    for (const size of [1, 7, 1000]) {
      expect(await readAll(bytes, size)).toEqual([
        { number: 1, text: '0123456789' },
        { number: 2, fault: 'is longer than 10 bytes' },
        { number: 3, fault: 'is not UTF-8 text' },
        { number: 4, fault: 'is longer than 10 bytes' },
        { number: 5, text: 'last' },
      ]);
    }
  });
});
