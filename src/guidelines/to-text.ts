import type { Capabilities } from '../adapters/adapter.ts';
import { AppError } from '../domain/errors.ts';
import type { Publication } from '../sources/record-schema.ts';
import { isBlank } from './digests.ts';
import { maxChars, toGuideline, tooLong } from './to-guideline.ts';
import { toHtml } from './to-html.ts';
import { toMarkdown } from './to-markdown.ts';

export type GuidelineFormat = NonNullable<Capabilities['guidelines']>;

interface GuidelineText {
  text: string;
  /** What was left out, each in a sentence. */
  notes: string[];
}

const writers = { html: toHtml, markdown: toMarkdown } as const;

/**
 * A publication as a tool takes it. Pure.
 *
 * @throws AppError `invalid` for one that cannot be read, has nothing for trainers, or is too long: it is never cut
 */
export function toText(publication: Publication, format: GuidelineFormat): GuidelineText {
  const { blocks, notes } = toGuideline(publication);
  const text = writers[format](blocks);
  if (isBlank(text)) throw new AppError('invalid', 'The publication has no text for trainers');
  if (text.length <= maxChars) return { text, notes };
  throw tooLong();
}
