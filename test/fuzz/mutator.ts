import { createRandom } from '../support/random.ts';

/** Random choices from a seed, and nearly valid text, bytes and JSON that they make of valid inputs. */
export interface Mutator {
  /** An integer from 0 to `count` - 1. */
  below(count: number): number;
  /** True once in `count` calls on average. */
  oneIn(count: number): boolean;
  pick<T>(list: readonly T[]): T;
  bytes(valid: Uint8Array): Buffer;
  text(valid: string): string;
  /** A copy with a few values, keys or lists changed. */
  value(valid: unknown): unknown;
  /** The JSON of a value that is changed as by `value`, and sometimes byte by byte too. */
  json(valid: unknown): Buffer;
}

/** Texts that have broken parsers before. */
const odd = [
  '',
  ' ',
  '\t',
  '\0',
  '\r\n',
  '\u0085',
  '\u2028',
  '\ufeff',
  '\u200d',
  '\u202e',
  '\ud800',
  'é',
  'e\u0301',
  'ß',
  'İ',
  'Ａ',
  '／',
  '．．',
  '١',
  '👩🏽',
  ',',
  ';',
  '=',
  '"',
  "'",
  '\\',
  '/',
  '.',
  '..',
  '*',
  '%',
  '%2e%2e%2f',
  '%00',
  '@',
  '<b>',
  '{{x}}',
  '$1',
  '-0',
  '-1',
  '1e309',
  '0x10',
  'NaN',
  'null',
  '9007199254740993',
  '99999999999999999999',
  '__proto__',
  'constructor',
  'toString',
  '9999-12-31T23:59:59-23:59',
  '0000-01-01T00:00:00+23:59',
  'amara.o@opentrain.work',
  'a'.repeat(300),
];

const oddValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.5,
  2 ** 31,
  2 ** 53,
  1e300,
  [],
  {},
  [null],
  [[]],
  { id: 1 },
  { ['__proto__']: { polluted: true } },
  { constructor: { prototype: { polluted: true } } },
  { length: 1 },
];

const keys = ['id', 'type', 'data', 'nextCursor', 'hasMore', '__proto__', 'constructor', 'length', 'toString', ''];

export function createMutator(seed: number): Mutator {
  const random = createRandom(seed);
  const below = (count: number) => Math.floor(random() * count);
  const oneIn = (count: number) => below(count) === 0;
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  /** Mostly one change, sometimes several. */
  const times = () => (oneIn(3) ? 1 + below(6) : 1);

  function changeText(text: string): string {
    const [at, to] = [below(text.length + 1), below(text.length + 1)].sort((a, b) => a - b) as [number, number];
    const [before, part, after] = [text.slice(0, at), text.slice(at, to), text.slice(to)];
    const rest = text.slice(at);
    const changes = [
      () => `${before}${pick(odd)}${rest}`,
      () => `${before}${pick(odd)}${rest.slice(1)}`,
      () => `${before}${rest.slice(1)}`,
      () => `${before}${after}`,
      () => `${before}${part}${part.slice(0, 2000)}${after}`,
      () => `${before}${part.toUpperCase()}${after}`,
      () => `${before}${String.fromCharCode(below(oneIn(2) ? 128 : 65_536))}${rest.slice(1)}`,
      () => `${before}${below(10)}${rest.slice(1)}`,
      () => pick(odd),
    ];
    return pick(changes)();
  }

  function changeBytes(bytes: Buffer): Buffer {
    const [at, to] = [below(bytes.length + 1), below(bytes.length + 1)].sort((a, b) => a - b) as [number, number];
    const [before, part, after] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)];
    const rest = bytes.subarray(at);
    const flipped = Buffer.of((rest[0] ?? 0) ^ (1 << below(8)));
    const changes = [
      () => [before, flipped, rest.subarray(1)],
      () => [before, Buffer.of(pick([0, 0x0a, 0x22, 0x5c, 0x7b, 0x7f, 0x80, 0xc0, 0xed, 0xff])), rest.subarray(1)],
      () => [before, Buffer.of(below(256)), rest],
      () => [before, Buffer.from(pick(odd)), rest],
      () => [before, after],
      () => [before, part, part.subarray(0, 2000), after],
      () => [before],
    ];
    return Buffer.concat(pick(changes)());
  }

  function changeValue(value: unknown, depth = 0): unknown {
    const isInside = typeof value === 'object' && value !== null && depth < 12 && !oneIn(6);
    if (!isInside) return replace(value);
    if (Array.isArray(value)) return changeList(value, depth);
    const entries = Object.entries(value);
    const at = below(entries.length);
    const [key, inner] = entries[at] ?? ['', null];
    const changes: (() => [string, unknown][])[] = [
      () => entries.with(at, [key, changeValue(inner, depth + 1)]),
      () => entries.with(at, [key, changeValue(inner, depth + 1)]),
      () => entries.with(at, [key, changeValue(inner, depth + 1)]),
      () => entries.toSpliced(at, 1),
      () => entries.with(at, [pick(keys), inner]),
      () => [...entries, [pick(keys), oneIn(2) ? pick(oddValues) : pick(odd)]],
    ];
    return Object.fromEntries(entries.length === 0 ? [[pick(keys), pick(oddValues)]] : pick(changes)());
  }

  function changeList(list: unknown[], depth: number): unknown[] {
    if (list.length === 0) return [pick(oddValues)];
    const at = below(list.length);
    const changes = [
      () => list.with(at, changeValue(list[at], depth + 1)),
      () => list.with(at, changeValue(list[at], depth + 1)),
      () => list.toSpliced(at, 1),
      () => list.toSpliced(at, 0, list[at]),
      () => list.toSpliced(at, 0, pick(oddValues)),
      () => list.toReversed(),
    ];
    return pick(changes)();
  }

  function replace(value: unknown): unknown {
    if (typeof value === 'string' && !oneIn(3)) return changeText(value);
    if (typeof value === 'number' && oneIn(2)) return String(value);
    const wraps = [() => [value], () => ({ value }), () => pick(odd), () => pick(oddValues), () => pick(oddValues)];
    return pick(wraps)();
  }

  function repeat<T>(start: T, change: (value: T) => T): T {
    let value = start;
    for (let left = times(); left > 0; left -= 1) value = change(value);
    return value;
  }

  const mutator: Mutator = {
    below,
    oneIn,
    pick,
    bytes: (valid) => repeat(Buffer.from(valid), changeBytes),
    text: (valid) => repeat(valid, changeText),
    value: (valid) => repeat(valid, changeValue),
    json(valid) {
      const written = Buffer.from(JSON.stringify(oneIn(20) ? valid : mutator.value(valid)) ?? '');
      return oneIn(5) ? mutator.bytes(written) : written;
    },
  };
  return mutator;
}
