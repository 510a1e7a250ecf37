import { globSync, readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';
import { nextLinkOf } from '../src/adapters/http/http-api.ts';
import { reasonsIn } from '../src/adapters/label-studio/members.ts';
import { toText } from '../src/guidelines/to-text.ts';
import { compareOpenapi } from '../src/marketplace/compare-openapi.ts';
import { account } from '../src/marketplace/contract/account.ts';

/**
 * Outsiders choose texts: names, manuals, headers, pages of tools. A pattern that looks again from each position takes
 * the square of the length of a text, on the thread that answers deliveries.
 */

const kilobyte = 1024;
const megabyte = 1024 * kilobyte;

/** At most so many times the time of a pattern of which each character is a match. The square takes hundreds. */
const mostTimes = 100;

/** Of this thread alone: a compiler and a collector run beside it. */
function cpuMicroseconds(work: () => unknown): number {
  const begun = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(begun);
  return user + system;
}

const bounds = new Map<number, number>();

/** What a linear pattern takes, measured once for each length, beside the others. */
function boundFor(length: number): number {
  const known = bounds.get(length);
  if (known !== undefined) return known;
  const text = 'a'.repeat(length);
  const tries = [1, 2, 3].map(() => cpuMicroseconds(() => text.replaceAll(/./gs, '')));
  const bound = mostTimes * Math.max(200, ...tries);
  bounds.set(length, bound);
  return bound;
}

/** Shorter texts first, so that what takes the square ends soon. */
function isLinear(work: (text: string) => unknown, unit: string, length: number): boolean {
  return [4 * kilobyte, 16 * kilobyte, length]
    .filter((one) => one <= length)
    .every((one) => textsOf(unit, one).every((text) => isWithin(() => work(text), boundFor(one))));
}

/** The least of four counts: now and then this thread waits for the collector. */
function isWithin(work: () => unknown, bound: number): boolean {
  return [1, 2, 3, 4].some(() => cpuMicroseconds(work) < bound);
}

interface Pattern {
  where: string;
  source: string;
  flags: string;
}

function listPatterns(): Pattern[] {
  return globSync('src/**/*.{ts,js}').flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    const found: Pattern[] = [];
    const visitor = new Visitor({
      Literal(literal) {
        if (!('regex' in literal)) return;
        const where = `${file}:${text.slice(0, literal.start).split('\n').length}`;
        found.push({ where, source: literal.regex.pattern, flags: literal.regex.flags });
      },
    });
    visitor.visit(parseSync(file, text).program);
    return found;
  });
}

/** One of each class that patterns name. */
const usual = [
  ' ',
  '\n',
  '\0',
  'a',
  'A',
  '0',
  '.',
  '/',
  '"',
  '<',
  '@',
  '\u00a0',
  '\u00e9',
  '\uff11',
  '\u0301',
  '\u200b',
];

/** What is repeated: the usual characters, those of the pattern, and its words one after the other. */
function unitsOf({ source }: Pattern): { characters: string[]; words: string[] } {
  const characters = new Set([...usual, ...source.replaceAll(/\\u\{?\w+\}?/g, '')]);
  const literals = source.match(/(?:\\\W|[^\\()[\]{}*+?.^$|])+/g) ?? [];
  const words = literals.map((word) => word.replaceAll('\\', '')).filter(({ length }) => length > 1);
  return { characters: [...characters], words: words.map((_, index) => words.slice(0, index + 1).join('')) };
}

/** Neither the beginning nor the end matches what is between. */
function textsOf(unit: string, length: number): string[] {
  const repeated = unit.repeat(length / unit.length);
  return [`${repeated}\u0001`, `x${repeated}\u0001`];
}

function toTexts(text: string): string[] {
  const code = { type: 'codeBlock', content: [{ type: 'text', text }] };
  const pages = [{ title: 'Cars', depth: 1, content: { type: 'doc', content: [code] } }];
  return (['html', 'markdown'] as const).map((format) => {
    return toText({ manualId: 'm1', publicationNumber: 1, pages }, format).text;
  });
}

function compareWithPath(text: string): unknown {
  return compareOpenapi({ paths: { [text]: { get: {} } } }, [{ operation: account.me }]);
}

const characters = [...' \n\t\0aA0_-./\\"\'<>{}()[]`|#&;=@', '\u00e9', '\u200b'];

describe('a text that an outsider chose', () => {
  const patterns = listPatterns();

  it('is matched by no pattern in the square of its length', () => {
    expect(patterns.length).toBeGreaterThan(200);
    const slow = patterns.flatMap((pattern) => {
      const { characters, words } = unitsOf(pattern);
      const units = [
        ...characters.map((unit) => [unit, 16 * kilobyte] as const),
        ...words.map((unit) => [unit, 128 * kilobyte] as const),
      ];
      const compiled = new RegExp(pattern.source, pattern.flags);
      const found = units.filter(([unit, length]) => !isLinear((text) => text.replace(compiled, ''), unit, length));
      return found.map(([unit]) => `${pattern.where} /${pattern.source}/ on repeated ${JSON.stringify(unit)}`);
    });
    expect(slow).toEqual([]);
  });

  it.each<[string, number, (text: string) => unknown]>([
    ['a code block of a manual', 16 * kilobyte, toTexts],
    ['a path of the API description', megabyte, compareWithPath],
    ['a Link header', megabyte, nextLinkOf],
    ['a sign-up page', megabyte, reasonsIn],
  ])('held up deliveries for seconds as %s', (_, length, read) => {
    const units = [...characters, '<ul class="errorlist">', '<li>'];
    expect(units.filter((unit) => !isLinear(read, unit, length))).toEqual([]);
  });
});
