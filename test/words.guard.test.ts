import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** `docs/glossary.md` says which word a thing has; this keeps the words that it retires from coming back. */

/** A word of an identifier or a comment, by its parts: `sightingOf` and `last_sighting` have `sighting`. */
interface RetiredWord {
  word: string;
  forms: readonly string[];
}

const pronouns = ['anybody', 'everybody', 'nobody', 'somebody', 'whoever', 'whom', 'whomever'];

const retired: readonly RetiredWord[] = [
  { word: 'attend', forms: ['attend', 'attends', 'attended'] },
  { word: 'fall', forms: ['fall', 'falls'] },
  { word: 'graces', forms: ['graces'] },
  { word: 'ground', forms: ['ground', 'grounds'] },
  { word: 'heir', forms: ['heir', 'heirs'] },
  { word: 'place', forms: ['place', 'places'] },
  { word: 'restIn', forms: ['restin'] },
  { word: 'sighting', forms: ['sighting', 'sightings', 'sighted'] },
  { word: 'somebody', forms: pronouns },
  { word: 'tend', forms: ['tend', 'tends', 'tended'] },
  { word: 'told', forms: ['told', 'untold'] },
  { word: 'works', forms: ['createworks', 'worksdeps', 'withworks'] },
];

const glossary = readFileSync('docs/glossary.md', 'utf8');
const sources = globSync('src/*/**/*.ts');

/** The folders of tests that have no retired word left, titles and other texts included. */
const cleanTests = [...globSync('test/stories/**/*.ts'), ...globSync('test/support/**/*.ts')];

describe('the glossary', () => {
  const words = [...glossary.matchAll(/^- \*\*(.+?)\*\*: (.+)$/gm)].map(([, word = '', says = '']) => ({ word, says }));
  const retiredRows = [...glossary.matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)]
    .slice(1)
    .flatMap(([, all = '']) => all.split(', '))
    .filter((word) => !/^-+$/.test(word));

  it('has its words in order, each once', () => {
    const names = words.map(({ word }) => word);
    expect(names.length).toBeGreaterThan(50);
    expect(names).toEqual([...new Set(names)].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)));
  });

  it('says what each is in one line', () => {
    expect(words.filter(({ says }) => says.length > 200 || !says.endsWith('.'))).toEqual([]);
  });

  it.each(retired)('names $word among the retired words', ({ word }) => {
    expect(retiredRows).toContain(word);
  });
});

describe('the retired word', () => {
  const linesByFile = new Map([
    ...sources.map((file) => [file, wordsOf(readFileSync(file, 'utf8'))] as const),
    ...cleanTests.map((file) => [file, wordsWithTextsOf(readFileSync(file, 'utf8'))] as const),
  ]);

  it.each(retired)('$word is in no identifier and no comment', ({ forms }) => {
    const found = [...linesByFile].flatMap(([file, lines]) =>
      lines.flatMap((words, index) => (forms.some((form) => words.has(form)) ? [`${file}:${index + 1}`] : [])),
    );
    expect(found).toEqual([]);
  });

  it.each([
    ['an identifier', 'const lastSighting = 1;', true],
    ['a name of a file', "import { x } from './sighting-store.ts';", true],
    ['a column', "kysely.select('last_sighting')", true],
    ['a comment', '/** A sighting of one day. */', true],
    ['a text for people', "const says = 'a sighting of one day';", false],
    ['another word that begins alike', 'const sightings2 = insighting;', false],
  ])('is found in %s', (_, line, isFound) => {
    expect(wordsOf(line).some((words) => words.has('sighting'))).toBe(isFound);
  });
});

/** The words of each line in lower case, without texts for people. */
function wordsOf(source: string): Set<string>[] {
  return source.split('\n').map((line) => {
    const isComment = /^\s*(\/\*\*|\*|\/\/)/.test(line);
    const code = isComment ? line : line.replaceAll(/'[^']*'|`[^`]*`/g, (text) => (text.includes(' ') ? '' : text));
    return wordsOfLine(code);
  });
}

/** The words of each line in lower case: a test's title is a text too. */
function wordsWithTextsOf(source: string): Set<string>[] {
  return source.split('\n').map(wordsOfLine);
}

function wordsOfLine(line: string): Set<string> {
  const names = line.split(/[^A-Za-z]+/);
  const parts = [...names, ...names.flatMap((name) => name.split(/(?<=[a-z])(?=[A-Z])/))];
  return new Set(parts.map((part) => part.toLowerCase()));
}
