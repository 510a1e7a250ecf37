import fc from 'fast-check';

/** Pages with all nodes, marks and attributes of the sandbox's capabilities, in places where editors write them. */

const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 30, unit: 'grapheme' }),
  fc.stringMatching(/^[\\`*_{}[\]()#+\-.!~|<>&: \n1a]{1,12}$/),
  fc.constantFrom(
    '1. one',
    '- two',
    '> three',
    '# four',
    '<b>five</b>',
    '<!-- kept: table -->',
    '---',
    '[a]: b',
    '    six',
  ),
);

const mark = fc.oneof(
  fc.constantFrom('bold', 'italic', 'strike', 'code', 'underline').map((type) => ({ type })),
  fc.webUrl().map((href) => ({ type: 'link', attrs: { href } })),
);
const marks = fc.uniqueArray(mark, { maxLength: 3, selector: ({ type }) => type });

const image = fc.record({
  type: fc.constant('image'),
  attrs: fc.record({ assetId: fc.constantFrom('ast_1', 'ast_2'), alt: text }),
});
const inline = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('text'), text, marks }) },
  fc.constant({ type: 'hardBreak' }),
  image,
);
const inlines = fc.array(inline, { maxLength: 4 });

const { block } = fc.letrec((tie) => {
  const blocks = fc.array(tie('block'), { minLength: 1, maxLength: 3 });
  const items = fc.array(fc.record({ type: fc.constant('listItem'), content: blocks }), { minLength: 1, maxLength: 3 });
  const cell = fc.record({ type: fc.constant('tableCell'), content: blocks });
  const row = fc.record({ type: fc.constant('tableRow'), content: fc.array(cell, { minLength: 1, maxLength: 3 }) });
  return {
    block: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.record({ type: fc.constant('paragraph'), content: inlines }),
      fc.record({
        type: fc.constant('heading'),
        attrs: fc.record({ level: fc.integer({ min: 1, max: 6 }) }),
        content: inlines,
      }),
      fc.record({
        type: fc.constant('codeBlock'),
        attrs: fc.record({ language: fc.constantFrom('python', 'c++', 'no language at all') }, { requiredKeys: [] }),
        content: fc.array(fc.record({ type: fc.constant('text'), text }), { maxLength: 1 }),
      }),
      fc.constant({ type: 'horizontalRule' }),
      image,
      fc.record({ type: fc.constant('bulletList'), content: items }),
      fc.record({
        type: fc.constant('orderedList'),
        attrs: fc.record({ start: fc.integer({ min: 0, max: 999_999 }) }, { requiredKeys: [] }),
        content: items,
      }),
      fc.record({ type: fc.constant('blockquote'), content: blocks }),
      fc.record({ type: fc.constant('table'), content: fc.array(row, { minLength: 1, maxLength: 3 }) }),
    ),
  };
});

/** Most nodes have an id, by which they can be patched. */
const known = fc.tuple(block, fc.integer({ max: 9, min: 0 }));

export const arbitraryPage = fc.array(known, { maxLength: 6 }).map((nodes) => ({
  type: 'doc',
  content: nodes.map(([node, luck], index) => ({
    ...(node as object),
    attrs: { ...Object(node).attrs, ...(luck > 0 && { id: `n${index}` }) },
  })),
}));
