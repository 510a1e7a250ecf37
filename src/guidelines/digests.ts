import { createHash } from 'node:crypto';

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
