import fc from 'fast-check';
import { readCanonical } from '../../../src/guidelines/canonical-schema.ts';
import { anyText } from '../any-text.ts';

/** Pages that a manual may have: trees of known and unknown nodes, with the texts of people who mean harm. */

const attacks = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '</p><iframe src="https://evil.example">',
  '[x](javascript:alert(1))',
  '![x](https://evil.example/a.png)',
  '<javascript:alert(1)>',
  'mailto:evil@evil.example evil@evil.example',
  'www.evil.example ftp://evil.example',
  '&lt;script&gt; &#60;script&#62;',
  '```\n<script>',
  '</code></pre><script>alert(1)</script>',
  '`` ` ``` <b onclick=x>',
  '\\<script> \\\\<script>',
  '\n\n<script>\n\n',
  '    <script>',
  '| a | b |\n| - | - |\n',
  '- <b>',
  '1. <b>',
  '> # <b>',
  '<!-- -->',
  '[a]: javascript:alert(1)',
  '[a]',
  '$$x$$ :::x {onclick=x}',
  '\u202e\u0000\ud800',
  '"><svg onload=alert(1)>',
  "' onclick='alert(1)",
  '-->',
  '---',
  '===',
  '*',
  '~~',
];

const addresses = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'file:///etc/passwd',
  'mailto:evil@evil.example',
  '//evil.example',
  '/relative',
  'https://good.example@evil.example/',
  'https://example.com/a?b=1&copy;=2#<script>',
  'https://example.com/"onmouseover="alert(1)',
  'https://example.com/>)](javascript:alert(1))',
  'https://example.com/\\`|x',
  'http://[::1]/x',
];

const text = fc
  .array(fc.oneof(fc.constantFrom(...attacks), anyText(), fc.constantFrom(' ', '\n', 'word', '`')))
  .map((parts) => parts.join(''));

const href = fc.oneof(fc.constantFrom(...addresses), fc.webUrl({ withQueryParameters: true }), text);

const attrs = fc.record(
  {
    href,
    src: href,
    alt: text,
    onclick: text,
    level: fc.oneof(fc.integer(), text),
    start: fc.integer(),
    language: text,
    style: text,
  },
  { requiredKeys: [] },
);

const mark = fc.record({
  type: fc.oneof(
    fc.constantFrom('bold', 'strong', 'italic', 'em', 'strike', 'code', 'link', 'link', 'underline', 'textStyle'),
    text,
  ),
  attrs,
});

const types = [
  ...['doc', 'paragraph', 'heading', 'blockquote', 'codeBlock', 'code_block', 'horizontalRule', 'bulletList'],
  ...['orderedList', 'taskList', 'listItem', 'taskItem', 'table', 'tableRow', 'tableCell', 'tableHeader', 'hardBreak'],
  ...['image', 'script', 'iframe', 'html', 'rawHtml', 'callout', '__proto__', 'constructor'],
];

const { node } = fc.letrec((tie) => ({
  text: fc.record({ type: fc.constant('text'), text, marks: fc.array(mark, { maxLength: 3 }) }),
  node: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    tie('text'),
    fc.record(
      {
        type: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...types) }, { weight: 1, arbitrary: text }),
        text,
        attrs,
        content: fc.array(tie('node'), { maxLength: 4 }),
      },
      { requiredKeys: ['type', 'content'] },
    ),
  ),
}));

export const hostilePage = fc.record({
  title: text,
  depth: fc.integer({ min: 1, max: 9 }),
  content: fc.oneof({ weight: 9, arbitrary: node }, { weight: 1, arbitrary: fc.jsonValue() }),
});

/** The same, without what is not a page. */
export const readablePages = fc.array(
  hostilePage.filter(({ content }) => readCanonical(content) !== null),
  { minLength: 1, maxLength: 3 },
);
