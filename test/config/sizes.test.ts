import { expect, it } from 'vitest';
import { Config } from '../../src/config/config-schema.ts';
import { toSizeBytes } from '../../src/lib/units.ts';

it.each([
  ['0B', 0],
  ['512KiB', 512 * 1024],
  ['64MiB', 64 * 1024 ** 2],
  ['1GiB', 1024 ** 3],
  ['2TiB', 2 * 1024 ** 4],
  ['64', undefined],
  ['64MB', undefined],
  ['64 MiB', undefined],
  ['-1MiB', undefined],
  ['1.5GiB', undefined],
  ['', undefined],
])('%s is a size of %s bytes', (text, bytes) => {
  expect(toSizeBytes(text)).toBe(bytes);
});

it.each([
  ['a number', { bytesPerMinute: 1000 }],
  ['what is no size', { storedBytes: '1 gigabyte' }],
  ['less than a few deliveries', { bytesPerMinute: '100KiB' }],
  ['no deliveries at all', { deliveriesPerMinute: 0 }],
])('a limit that is %s is refused', (_, limits) => {
  expect(Config.safeParse({ receiver: { limits } }).success).toBe(false);
});
