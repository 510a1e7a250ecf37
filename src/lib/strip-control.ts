import { stripVTControlCharacters } from 'node:util';

/**
 * The text on one line, without terminal escapes and other control characters, and without
 * characters that are invisible or turn the direction of what follows.
 */
export function stripControl(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\t\n\r\v\f\u0085\u2028\u2029]+/g, ' ')
    .replace(/[\p{Cc}\p{Cs}]|(?![\u200c\u200d])\p{Cf}/gu, '');
}
