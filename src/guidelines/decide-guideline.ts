import { createHash } from 'node:crypto';
import type { Row } from '../db/schema.ts';

export interface PublicationName {
  manualId: string;
  publicationNumber: number;
}

export type WrittenGuideline = Pick<
  Row<'guideline'>,
  'manualId' | 'publicationNumber' | 'sentDigest' | 'wordsDigest' | 'beforeDigest' | 'heldDigest'
>;

/**
 * `shown`: the tool shows what is published. `landed`: so it does, but this is not stored yet. `older`: a newer publication
 * was written before. `cut`: the tool changed the words of what was written. `edited`: the text is not what Gangway wrote
 * last. `foreign`: there is a text, but Gangway has never written one.
 */
export type Verdict = 'shown' | 'landed' | 'write' | 'older' | 'cut' | 'edited' | 'foreign';

interface Comparison {
  /** Undefined if Gangway has never looked at the project. */
  known: WrittenGuideline | undefined;
  publication: PublicationName;
  wanted: string;
  /** What the tool shows. */
  found: string;
  /** Whether an operator wants any text to be replaced. */
  overwrites: boolean;
}

/** Decides what becomes of a project's guidelines. A text is replaced only if Gangway wrote it. Pure. */
export function decideGuideline({ known, publication, wanted, found, overwrites }: Comparison): Verdict {
  const isWritten = known !== undefined && known.sentDigest !== null;
  if (isWritten && (found === wanted || isOurs(known, found))) return decideOwn(known, publication, wanted, found);
  if (found === wanted) return 'landed';
  if (overwrites || (!isWritten && isBlank(found))) return 'write';
  return isWritten ? 'edited' : 'foreign';
}

/** For a text that Gangway wrote, or that is the wanted one. */
function decideOwn(known: WrittenGuideline, publication: PublicationName, wanted: string, found: string): Verdict {
  const isUnheard = known.heldDigest === null && digestOf(found) === known.beforeDigest;
  if (isOlder(publication, known)) return 'older';
  if (found === wanted) return isSettled(known, publication, found) ? 'shown' : 'landed';
  if (isUnheard || known.sentDigest !== digestOf(wanted)) return 'write';
  if (digestOfWords(found) !== digestOfWords(wanted)) return 'cut';
  return isSettled(known, publication, found) ? 'shown' : 'landed';
}

function isSettled(known: WrittenGuideline, { manualId, publicationNumber }: PublicationName, found: string): boolean {
  const isNamed = known.manualId === manualId && known.publicationNumber === publicationNumber;
  return isNamed && known.heldDigest === digestOf(found);
}

/**
 * Whether Gangway wrote the text. While the outcome of a call is unknown, the text may also be the one before it, or the
 * sent one, however the tool has cleaned it.
 */
function isOurs({ sentDigest, wordsDigest, beforeDigest, heldDigest }: WrittenGuideline, found: string): boolean {
  const digest = digestOf(found);
  if (heldDigest !== null) return digest === heldDigest;
  return digest === beforeDigest || digest === sentDigest || digestOfWords(found) === wordsDigest;
}

/** Numbers of publications only grow. A smaller one comes from an old reading, or a truncated list. */
function isOlder({ manualId, publicationNumber }: PublicationName, known: WrittenGuideline): boolean {
  return manualId === known.manualId && publicationNumber < (known.publicationNumber ?? 0);
}

/** The effect of a write, by what the tool shows after it. Pure. */
export function judgeWritten(before: string, wanted: string, after: string): 'landed' | 'untouched' | 'cut' {
  if (digestOfWords(after) === digestOfWords(wanted)) return 'landed';
  return after === before ? 'untouched' : 'cut';
}

/** The newest publication that claims a project; null if several manuals do. Pure. @param claims at least one */
export function decideClaim<Claim extends PublicationName>(claims: readonly Claim[]): Claim | null {
  if (new Set(claims.map(({ manualId }) => manualId)).size > 1) return null;
  return claims.reduce((newest, one) => (one.publicationNumber > newest.publicationNumber ? one : newest));
}

/** Digests are stored instead of texts, so that no text of a manual or a tool is. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Only of the letters and digits, which stay when a tool cleans a text. */
export function digestOfWords(text: string): string {
  return digestOf(wordsOf(text));
}

/** Whether a text shows nothing, although it may have elements that an editor left empty. */
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
