import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { type Guideline, toGuideline } from '../../src/guidelines/to-guideline.ts';
import { toHtml, toMarkdown } from '../../src/guidelines/to-text.ts';
import type { PublishedPage } from '../../src/marketplace/source-records.ts';
import { hostilePage, readablePages } from '../support/guidelines/hostile-pages.ts';
import { addressesIn, addressesOf, harmIn, readHtml, shownByMarkdown } from '../support/guidelines/read-shown.ts';
import { tries } from '../support/tries.ts';

const p = (...content: unknown[]) => ({ type: 'paragraph', content });
const t = (text: string, ...marks: unknown[]) => ({ type: 'text', text, marks });
const doc = (...content: unknown[]) => ({ type: 'doc', content });
const page = (...content: unknown[]): PublishedPage => ({ title: 'Cars', depth: 1, content: doc(...content) });

function write(...pages: PublishedPage[]) {
  const { blocks, notes } = toGuideline({ pages });
  return { html: toHtml(blocks), markdown: toMarkdown(blocks), notes };
}

describe('guidelines from a publication', () => {
  it('have the content of the manual, as HTML and as Markdown', () => {
    const { html, markdown, notes } = write(
      page(
        { type: 'heading', attrs: { level: 1 }, content: [t('What counts')] },
        p(
          t('Every '),
          t('whole', { type: 'bold' }),
          t(' car & van, see '),
          linked('the list', 'https://example.com/?a=1&b=2'),
        ),
        { type: 'bulletList', content: [item(p(t('red'))), item(p(t('blue')), list(item(p(t('light blue')))))] },
        { type: 'codeBlock', content: [t('<car id="1">\n  </car>')] },
        table([
          ['kind', 'label'],
          ['van', 'car'],
        ]),
        { type: 'horizontalRule' },
        { type: 'blockquote', content: [p(t('one'), { type: 'hardBreak' }, t('two'))] },
      ),
    );
    expect(html).toBe(
      [
        '<h1>Cars</h1><h2>What counts</h2>',
        '<p>Every <strong>whole</strong> car &amp; van, see ',
        '<a href="https://example.com/?a=1&amp;b=2" rel="noopener noreferrer">the list</a></p>',
        '<ul><li><p>red</p></li><li><p>blue</p><ol><li><p>light blue</p></li></ol></li></ul>',
        '<pre><code>&lt;car id="1"&gt;\n  &lt;/car&gt;</code></pre>',
        '<table><tbody><tr><th>kind</th><th>label</th></tr><tr><td>van</td><td>car</td></tr></tbody></table>',
        '<hr><blockquote><p>one<br>two</p></blockquote>',
      ].join(''),
    );
    expect(markdown.split('\n')).toEqual([
      '# Cars',
      '',
      '## What counts',
      '',
      'Every **whole** car &amp; van, see [the list](<https://example.com/?a=1&b=2>)',
      '',
      '- red',
      '- blue',
      '',
      '  1. light blue',
      '',
      '```',
      '<car id="1">',
      '  </car>',
      '```',
      '',
      '| kind | label |',
      '| --- | --- |',
      '| van | car |',
      '',
      '***',
      '',
      '> one\\',
      '> two',
    ]);
    expect(notes).toEqual([]);
  });

  it('link to the address in the manual, whatever characters it has', () => {
    const { markdown } = write(page(p(t('**here**', { type: 'bold' }, linkTo('http://a.example/?)*=~~[x](y)')))));
    const [link, ...others] = shownByMarkdown(markdown).querySelectorAll('a');
    expect([link?.getAttribute('href'), link?.textContent, others]).toEqual([
      'http://a.example/?%29%2A=%7E%7E%5Bx%5D%28y%29',
      '**here**',
      [],
    ]);
  });

  it('leave out empty titles, quotes and lists', () => {
    const empty = ['blockquote', 'bulletList', 'heading'].map((type) => ({ type, content: [] }));
    const { html, markdown } = write({ title: ' ', depth: 1, content: doc(p(t('Every car')), ...empty) });
    expect([html, markdown]).toEqual(['<p>Every car</p>', 'Every car']);
  });

  it('show the same text in both formats', () => {
    const { html, markdown } = write(
      page(p(t('1. a *b* _c_ `d` <e> &amp; [f](g) h@i.example www.j.example http://k.example ~~l~~ #m | n \\o'))),
    );
    expect(shownByMarkdown(markdown).textContent.trim()).toContain(readHtml(html).querySelector('p')?.textContent);
    expect(shownByMarkdown(markdown).querySelectorAll('a, em, code, del, li')).toEqual([]);
  });

  it('say where an image was, but keep none', () => {
    const { html, markdown, notes } = write(
      page({ type: 'image', attrs: { src: 'https://example.com/a.png', alt: 'a car' } }, p({ type: 'image' })),
    );
    expect(html).toBe('<h1>Cars</h1><p>[Image: a car]</p><p>[Image]</p>');
    expect(markdown).toBe('# Cars\n\n\\[Image: a car\\]\n\n\\[Image\\]');
    expect(notes).toEqual(['An image was left out (2 times)']);
  });

  it('keep the text of unknown nodes, with a note', () => {
    const { html, notes } = write(
      page(
        { type: 'callout', content: [p(t('Mind the '), t('gap', { type: 'highlight' }))] },
        { type: 'a b', text: 'raw' },
      ),
    );
    expect(html).toBe('<h1>Cars</h1><p>Mind the gap</p><p>raw</p>');
    expect(notes).toEqual([
      'The node "callout" is unknown: only its text was kept',
      'The mark "highlight" was left out',
      'A node is unknown: only its text was kept',
    ]);
  });

  it.each([
    ['a script', 'javascript:alert(1)'],
    ['a mail address', 'mailto:a@b.example'],
    ['a path', '/here'],
    ['an address with a name', 'https://name@b.example/'],
    ['an endless address', `https://b.example/${'a'.repeat(2000)}`],
    ['no text', 7],
  ])('keep the text of a link to %s, and not the link', (_, href) => {
    const { html, notes } = write(page(p({ type: 'text', text: 'here', marks: [{ type: 'link', attrs: { href } }] })));
    expect(html).toBe('<h1>Cars</h1><p>here</p>');
    expect(notes).toEqual(['A link that is not http or https was left out: only its text was kept']);
  });

  it.each([
    ['no tree', 'text'],
    ['a tree that is too deep', Array.from({ length: 61 }).reduce<unknown>((inner) => doc(inner), t('x'))],
    ['a tree that is too large', doc(...Array.from({ length: 20_001 }, () => t('x')))],
    ['a node without a type', doc({ content: [] })],
  ])('cannot be made from %s', (_, content) => {
    expect(() => toGuideline({ pages: [{ title: 'Cars', depth: 1, content }] })).toThrow(
      /the page "Cars" of the manual/,
    );
  });

  it('contain no code, and only the http and https addresses of the manual, whatever it says', () => {
    let read = 0;
    fc.assert(
      fc.property(fc.array(hostilePage, { minLength: 1, maxLength: 2 }), (pages) => {
        const guideline = readable(pages);
        if (guideline === null) return;
        read += 1;
        const said = addressesOf(pages);
        for (const shown of [readHtml(toHtml(guideline.blocks)), shownByMarkdown(toMarkdown(guideline.blocks))]) {
          expect(harmIn(shown)).toEqual([]);
          expect(addressesIn(shown).filter((address) => !said.has(address))).toEqual([]);
        }
      }),
      { numRuns: tries(3000) },
    );
    expect(read).toBeGreaterThan(tries(1000));
  });

  it('begin and end with visible text, because tools trim the rest, whatever the manual says', () => {
    fc.assert(
      fc.property(readablePages, (pages) => {
        const { html, markdown } = write(...pages);
        expect([html, markdown]).toEqual([html.trim(), markdown.trim()]);
      }),
      { numRuns: tries(1000) },
    );
  });
});

/** Null for pages that are refused as invalid. */
function readable(pages: PublishedPage[]): Guideline | null {
  try {
    return toGuideline({ pages });
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid') return null;
    throw error;
  }
}

function linked(text: string, href: string) {
  return t(text, linkTo(href));
}

function linkTo(href: string) {
  return { type: 'link', attrs: { href } };
}

function item(...content: unknown[]) {
  return { type: 'listItem', content };
}

function list(...content: unknown[]) {
  return { type: 'orderedList', content };
}

function table(rows: string[][]) {
  const content = rows.map((cells) => ({
    type: 'tableRow',
    content: cells.map((cell) => ({ type: 'tableCell', content: [p(t(cell))] })),
  }));
  return { type: 'table', content };
}

describe('a manual that is much larger than it looks', () => {
  const lines = '\n'.repeat(499_000);

  it.each<[string, () => unknown, string]>([
    ['a text that no tool takes', () => write(page(p(t('x'.repeat(500_001))))), 'longer than 500000 characters'],
    [
      'line breaks in sixty quotes',
      () => {
        const code: unknown = { type: 'codeBlock', content: [t(`a${lines}a`)] };
        const quoted = Array.from({ length: 50 }).reduce((inner) => ({ type: 'blockquote', content: [inner] }), code);
        return write(page(quoted));
      },
      'longer than 500000 characters',
    ],
    [
      'a table with one long row and many short ones',
      () => write(page(table([Array(1000).fill('x'), ...Array(1000).fill(['x'])]))),
      'a row that is much longer than the others',
    ],
  ])('is refused: %s', (_, convert, says) => {
    expect(convert).toThrow(expect.objectContaining({ code: 'invalid', message: expect.stringContaining(says) }));
  });

  it('is written although its many backticks once overflowed the stack', () => {
    const { markdown } = write(page({ type: 'codeBlock', content: [t('` '.repeat(200_000))] }));
    expect(markdown).toContain('\n```\n` ` ');
  });
});
