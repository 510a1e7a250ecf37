import { stripVTControlCharacters } from 'node:util';

/**
 * The text on one line, without terminal escapes and other control characters, and without characters that are invisible or
 * change the direction of the text.
 */
export function stripControl(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\t\n\r\v\f\u0085\u2028\u2029]+/g, ' ')
    .replace(/[\p{Cc}\p{Cs}]|(?![\u200c\u200d])\p{Cf}/gu, '');
}

/** A copy of JSON with every text changed, but not the keys of objects. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapTexts(one, change)]));
}

/** For `sort`: by code units, so that it is the same everywhere. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Removes the byte order mark that some editors and tools write at the beginning of a text. */
export function stripBom(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** The text without these characters at its end. A pattern such as `/x+$/` would take quadratic time. */
export function dropTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** Schemes that programs turn into links even without `//`. */
const scheme = /(?:mailto|callto|skype|xmpp|magnet|bitcoin|javascript|(?:^|[^a-z])(?:tel|sms|sips?)):\S/i;

/** Characters that some programs treat as the dot in a host name. */
const dots = /[.\u3002\uff0e\uff61\u2024\ufe52]/gu;

/** A dot before what may be a domain, but not an abbreviation, a version or a number. */
const domain = /(?<=[^.])\.(?=\p{L}\p{M}*\p{L}|xn--)/giu;
const domainInSmallLetters = /(?<=[^.])\.(?=\p{Ll}\p{M}*\p{L}|[xX][nN]--)/u;

/**
 * A stranger's text on one line, without anything that a mail or chat program turns into a link. URLs, mail addresses, host
 * names and IP addresses become `…`. A word with a dot before a capital (`Dr.Smith`), or without small letters, gets a space
 * after the dot.
 */
export function withoutLinks(text: string): string {
  return text.split(/\s+/u).map(withoutLink).join(' ');
}

function withoutLink(word: string): string {
  // Programs differ in the forms of a letter that they accept.
  const plain = word
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(dots, '.');
  if (isAddress(plain) || domainInSmallLetters.test(plain)) return '…';
  const parted = plain.replace(domain, '. ');
  return parted === plain ? word : parted;
}

function isAddress(word: string): boolean {
  return (
    /:\/\/|\/\/[\p{L}\p{N}]|\\\\|www\d*\.|\S@\S/iu.test(word) ||
    scheme.test(word) ||
    /(?:^|\D)\d{1,3}(?:\.\d{1,3}){3}(?!\d)/.test(word)
  );
}

/** Case never matters. Two missing addresses are not equal. */
export function isSameAddress(one: string | null, other: string | null): boolean {
  return one !== null && one.toLowerCase() === other?.toLowerCase();
}

/** A number with what it counts: "1 day", "2 days". */
export function sayCount(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

export type SameText = ReturnType<typeof createSameText>;

/** Returns the first of equal texts, and of equal lists of texts, so that very many take the memory of one. */
export function createSameText() {
  const texts = new Map<string, string>();
  const lists = new Map<string, string[]>();

  function text(value: string): string {
    const same = texts.get(value);
    if (same === undefined) texts.set(value, value);
    return same ?? value;
  }

  return {
    text,
    list(values: readonly string[]): string[] {
      const key = JSON.stringify(values);
      const same = lists.get(key) ?? values.map(text);
      lists.set(key, same);
      return same;
    },
  };
}

/** ` (did you mean "x"?)`, if one of the candidates is close; otherwise empty. */
export function suggestNearest(word: string, candidates: Iterable<string>): string {
  const limit = Math.max(2, Math.floor(word.length / 3));
  const ranked = [...candidates]
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance);
  return ranked[0] === undefined ? '' : ` (did you mean "${ranked[0].candidate}"?)`;
}

/** Levenshtein: how many characters to insert, delete or replace. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [line, letter] of [...from].entries()) {
    const next = [line + 1];
    for (const [column, other] of [...to].entries()) {
      const replaced = (row[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
