import { describe, expect, it } from 'vitest';
import {
  decideClaim,
  decideGuideline,
  digestOf,
  digestOfWords,
  judgeWritten,
  type WrittenGuideline,
} from '../../src/guidelines/decide-guideline.ts';

const publication = { manualId: 'm', publicationNumber: 2 };
const wanted = '<p>new words</p>';

/** What was written before; the tool has it as it was sent, unless a call is open. */
function written(sent: string, { number = 1, before = null as string | null } = {}): WrittenGuideline {
  const beforeDigest = before === null ? null : digestOf(before);
  const heldDigest = before === null ? digestOf(sent) : null;
  return {
    ...{ manualId: 'm', publicationNumber: number, sentDigest: digestOf(sent), wordsDigest: digestOfWords(sent) },
    ...{ beforeDigest, heldDigest },
  };
}

const never: WrittenGuideline = {
  ...written('x'),
  manualId: null,
  publicationNumber: null,
  sentDigest: null,
  heldDigest: null,
};
const open = written(wanted, { number: 2, before: 'old words' });

describe('what becomes of a project', () => {
  it.each<[string, WrittenGuideline | undefined, string, string, string]>([
    ['nothing is there, and nothing was', undefined, '', 'write', 'write'],
    ['an editor left an empty element', never, '<p><br></p>&nbsp;', 'write', 'write'],
    ['a text that was never ours', undefined, 'theirs', 'foreign', 'write'],
    ['a text that was never ours, seen before', never, 'theirs', 'foreign', 'write'],
    ['what is wanted, by whoever', undefined, wanted, 'landed', 'landed'],
    ['what was written last', written('old words'), 'old words', 'write', 'write'],
    ['an edit', written('old words'), 'old word', 'edited', 'write'],
    ['an edit of the formatting alone', written('old words'), '<b>old words</b>', 'edited', 'write'],
    ['an edit that emptied it', written('old words'), '', 'edited', 'write'],
    ['what is wanted, as it is known', written(wanted, { number: 2 }), wanted, 'shown', 'shown'],
    ['the same text under another number', written(wanted), wanted, 'landed', 'landed'],
    ['a newer publication', written('newer', { number: 3 }), 'newer', 'older', 'older'],
    ['a call that did not arrive', open, 'old words', 'write', 'write'],
    ['a call that arrived', open, wanted, 'landed', 'landed'],
    ['a call that arrived, and was cleaned', open, '<div>new words</div>\n', 'landed', 'landed'],
    ['an edit after a call that was not heard of', open, 'theirs', 'edited', 'write'],
  ])('%s', (_, known, found, decided, overwritten) => {
    const compared = { known, publication, wanted, found };
    expect(decideGuideline({ ...compared, overwrites: false })).toBe(decided);
    expect(decideGuideline({ ...compared, overwrites: true })).toBe(overwritten);
  });

  it('is reported if the tool truncated the text', () => {
    const known = { ...written(wanted, { number: 2 }), heldDigest: digestOf('<p>new') };
    expect(decideGuideline({ known, publication, wanted, found: '<p>new', overwrites: false })).toBe('cut');
  });
});

it.each([
  ['landed', 'old', '<div>new words</div>'],
  ['landed', '<b>new words</b>', '<b>new words</b>'],
  ['untouched', 'old', 'old'],
  ['cut', 'old', '<p>new'],
])('a call has %s', (outcome, before, after) => {
  expect(judgeWritten(before, wanted, after)).toBe(outcome);
});

it('several manuals for a project dispute it, and of one manual the newest publication wins', () => {
  const [one, two, other] = [
    { manualId: 'm', publicationNumber: 1 },
    { manualId: 'm', publicationNumber: 2 },
    { manualId: 'n', publicationNumber: 9 },
  ];
  expect(decideClaim([one, two, one])).toEqual(two);
  expect(decideClaim([one, other])).toBeNull();
});
