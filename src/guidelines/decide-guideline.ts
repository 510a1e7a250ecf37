import { createHash } from 'node:crypto';
import type { Row } from '../db/schema.ts';

/** A publication, by its numbers. */
export interface PublicationName {
  manualId: string;
  publicationNumber: number;
}

export type Written = Pick<
  Row<'guideline'>,
  'manualId' | 'publicationNumber' | 'sentDigest' | 'wordsDigest' | 'beforeDigest' | 'heldDigest'
>;

/**
 * `shown`: the tool shows what is published. `landed`: so it does, which is not stored yet. `older`: something newer was
 * written before. `cut`: the tool has changed the words of what was written. `edited`: it is not what Gangway wrote last.
 * `foreign`: there is a text, and Gangway has never written one.
 */
export type Verdict = 'shown' | 'landed' | 'write' | 'older' | 'cut' | 'edited' | 'foreign';

interface Compared {
  /** Undefined if Gangway has never looked at the project. */
  known: Written | undefined;
  publication: PublicationName;
  wanted: string;
  /** What the tool shows. */
  found: string;
  /** Whether an operator wants it written whatever the tool shows. */
  overwrites: boolean;
}

/** What becomes of the guidelines of a project. A text is replaced only if Gangway wrote it. Pure. */
export function decideGuideline({ known, publication, wanted, found, overwrites }: Compared): Verdict {
  const isWritten = known !== undefined && known.sentDigest !== null;
  if (isWritten && (found === wanted || isOurs(known, found))) return decideOwn(known, publication, wanted, found);
  if (found === wanted) return 'landed';
  if (overwrites || (!isWritten && isBlank(found))) return 'write';
  return isWritten ? 'edited' : 'foreign';
}

/** What is found is Gangway's, or is what is wanted. */
function decideOwn(known: Written, publication: PublicationName, wanted: string, found: string): Verdict {
  const isUnheard = known.heldDigest === null && digestOf(found) === known.beforeDigest;
  if (isOlder(publication, known)) return 'older';
  if (found === wanted) return isSettled(known, publication, found) ? 'shown' : 'landed';
  if (isUnheard || known.sentDigest !== digestOf(wanted)) return 'write';
  if (digestOfWords(found) !== digestOfWords(wanted)) return 'cut';
  return isSettled(known, publication, found) ? 'shown' : 'landed';
}

function isSettled(known: Written, { manualId, publicationNumber }: PublicationName, found: string): boolean {
  const isNamed = known.manualId === manualId && known.publicationNumber === publicationNumber;
  return isNamed && known.heldDigest === digestOf(found);
}

/**
 * Whether Gangway wrote what is found. While it is not known what became of a call, that is also what was there before
 * it, and what was sent, however the tool has cleaned it.
 */
function isOurs({ sentDigest, wordsDigest, beforeDigest, heldDigest }: Written, found: string): boolean {
  const digest = digestOf(found);
  if (heldDigest !== null) return digest === heldDigest;
  return digest === beforeDigest || digest === sentDigest || digestOfWords(found) === wordsDigest;
}

/** Publications are counted up. A smaller number is an old reading, or a list that was cut off. */
function isOlder({ manualId, publicationNumber }: PublicationName, known: Written): boolean {
  return manualId === known.manualId && publicationNumber < (known.publicationNumber ?? 0);
}

/** What a call has done, by what the tool shows after it. `untouched`: nothing. Pure. */
export function judgeWritten(before: string, wanted: string, after: string): 'landed' | 'untouched' | 'cut' {
  if (digestOfWords(after) === digestOfWords(wanted)) return 'landed';
  return after === before ? 'untouched' : 'cut';
}

/**
 * The publication that claims a project; null if several manuals do. Of one manual, the newest that was read. Pure.
 *
 * @param claims at least one
 */
export function decideClaim<Claim extends PublicationName>(claims: readonly Claim[]): Claim | null {
  if (new Set(claims.map(({ manualId }) => manualId)).size > 1) return null;
  return claims.reduce((newest, one) => (one.publicationNumber > newest.publicationNumber ? one : newest));
}

/** A text is known again by its digest, so that no text of a manual or of a tool is stored. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Of the letters and digits alone: they stay when a tool cleans a text. */
export function digestOfWords(text: string): string {
  return digestOf(wordsOf(text));
}

/** Whether a text shows nothing. An editor may leave empty elements. */
export function isBlank(text: string): boolean {
  return wordsOf(text) === '';
}

const tag = /<[^<>]*>/g;
const entity = /&#?\w{1,10};/g;

function wordsOf(text: string): string {
  return text
    .replaceAll(tag, '')
    .replaceAll(entity, '')
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}
