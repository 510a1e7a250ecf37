import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { editPage, saysSame, writeMarkdown } from '../../src/manuals/page-text.ts';
import type { PageNode } from '../../src/manuals/parse-markdown.ts';
import { patchContent, requireContent } from '../../src/sandbox/employer/content-schema.ts';
import { arbitraryPage } from './arbitrary-page.ts';

const repeated = [
  ...[
    '>',
    '[',
    '*',
    '_',
    '`',
    '~',
    '|',
    '#',
    '-',
    '\\',
    '&',
    '<',
    '!',
    '(',
    ']',
    ':',
    '\n',
    '\t',
    'a',
    'é',
    '\u0000',
    '\ud800',
  ],
  ...['a ', '*a ', '- ', '> ', '`a', '![', '_a_ ', '**a', '1. ', 'a\n', '|a', '# a\n'],
];

const assets = new Set(['ast_1', 'ast_2']);

const of = (type: string, attrs: object, ...content: PageNode[]): PageNode => ({ type, attrs: { ...attrs }, content });
const word = (mark?: string, attrs = {}): PageNode => ({
  type: 'text',
  text: 'word',
  ...(mark && { marks: [{ type: mark, attrs }] }),
});
const inParagraph = (...content: PageNode[]) => of('paragraph', {}, ...content);
const inCell = (cell: string, ...content: PageNode[]) => of('table', {}, of('tableRow', {}, of(cell, {}, ...content)));
const taskLosses = ['tasklist', 'taskitem', 'checked true of taskitem'];

describe('a page as Markdown', () => {
  it('changes nothing if it is not edited, whatever the page has', () => {
    fc.assert(
      fc.property(arbitraryPage, (page) => {
        const { body } = writeMarkdown(requireContent(page, assets));
        expect(editPage(page, body, 'x')).toBeNull();
      }),
    );
  });

  it('comes back as it was written, and the patches make what the whole page has', () => {
    fc.assert(
      fc.property(arbitraryPage, arbitraryPage, fc.infiniteStream(fc.boolean()), (page, other, picks) => {
        // Some nodes stay, some are new, and some are gone.
        const mixed = [...page.content, ...other.content].filter(() => picks.next().value);
        const { body } = writeMarkdown({ type: 'doc', content: mixed });
        fc.pre(!body.includes('<!-- kept'));
        const edited = editPage(page, body, 'x');
        if (edited === null) return;
        if (edited.ops === null) expect(page.content.map(({ attrs }) => attrs['id'])).toContain(undefined);
        else expect(patchContent(page, edited.ops, assets)).toEqual(edited.content);
        expect(writeMarkdown(edited.content).body).toBe(body);
      }),
    );
  });

  it.each(repeated)('of a million times %j is refused, and kept as it is', (text) => {
    const million = text.repeat(1_000_000 / text.length);
    expect(() => editPage(undefined, million)).toThrow('characters at most');
    const page = { type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'text', text: million }] }] };
    const { body } = writeMarkdown(page);
    expect(editPage(page, body)).toBeNull();
  });

  it.each(repeated)('of many times %j comes back, or is refused', (text) => {
    const body = text.repeat(40_000 / text.length).trim();
    const made = attempt(() => editPage(undefined, body)?.content);
    if (made instanceof AppError) expect(made.code).toBe('invalid');
    else expect(saysSame(made, body)).toBe(true);
  });

  it.each([
    ['<script>alert(1)</script>', 'Text of <img src=x onerror=alert(1)>'],
    ['javascript:', '[run](javascript:alert(1))'],
    ['a comment', 'One <!-- two --> three'],
    ['an entity', '&lt;b&gt; &#x3c;script>'],
  ])('has %s only as text', (_, body) => {
    const { content } = editPage(undefined, body) ?? {};
    expect(JSON.stringify(content)).not.toMatch(/"type":"(?!doc|paragraph|text)/);
  });

  it.each<[string, PageNode, string[]]>([
    ['an underlined word', inParagraph(word('underline')), ['underline']],
    ['a bold word in two parts', inParagraph(word('bold'), word('strong')), []],
    ['a link', inParagraph(word('link', { href: 'https://a.example', rel: 'me' })), ['rel me of link']],
    [
      'a link elsewhere',
      inParagraph(word('link', { href: 'ftp://a.example' })),
      ['link', 'href ftp://a.example/ of link'],
    ],
    ['an image', inParagraph(of('image', { assetId: 'ast_1', alt: 'A  box', width: 40 })), ['width 40 of image']],
    ['an image without a text', inParagraph(of('image', { assetId: 'ast_1', alt: '' })), []],
    ['a task', of('taskList', {}, of('taskItem', { checked: true }, inParagraph(word()))), taskLosses],
    ['two paragraphs in a cell', inCell('tableCell', inParagraph(word()), inParagraph(word())), ['paragraph']],
    ['code in a head', inCell('tableHeader', of('codeBlock', {}, word())), ['tableheader', 'codeblock']],
    ['the align of a heading, which stays with it', of('heading', { level: 2, align: 'right' }, word()), []],
    ['an empty item', of('bulletList', {}, of('listItem', {}), of('listItem', {}, inParagraph(word()))), []],
  ])('names what Markdown does not say of %s', (_, node, losses) => {
    expect(writeMarkdown({ type: 'doc', content: [node] }).losses).toEqual(losses);
  });

  it('keeps nothing that was copied from another page', () => {
    expect(() => editPage({ type: 'doc', content: [] }, '<!-- kept: table -->')).toThrow('nothing here that');
  });
});

function attempt<T>(work: () => T): T | unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
