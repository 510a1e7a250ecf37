import type { Block, Inline, TextRun } from './guideline.ts';

/**
 * Guidelines as HTML. Everything that comes from the manual is escaped, and only these elements are written. An
 * ampersand and brackets alone are escaped in text, so that a tool that cleans HTML leaves it as it is.
 */
export function toHtml(blocks: readonly Block[]): string {
  return blocks.map(writeBlock).join('');
}

function writeBlock(block: Block): string {
  switch (block.of) {
    case 'paragraph':
      return element('p', writeInlines(block.inlines));
    case 'heading':
      return element(`h${block.level}`, writeInlines(block.inlines));
    case 'list':
      return element(block.isOrdered ? 'ol' : 'ul', block.items.map((item) => element('li', toHtml(item))).join(''));
    case 'quote':
      return element('blockquote', toHtml(block.blocks));
    case 'code':
      return element('pre', element('code', escapeText(block.text)));
    case 'rule':
      return '<hr>';
    case 'table':
      return element('table', element('tbody', block.rows.map(writeRow).join('')));
  }
}

function writeRow(cells: readonly Inline[][], index: number): string {
  const name = index === 0 ? 'th' : 'td';
  return element('tr', cells.map((cell) => element(name, writeInlines(cell))).join(''));
}

const elementOfStyle = { bold: 'strong', italic: 'em', strike: 's', code: 'code' } as const;

function writeInlines(inlines: readonly Inline[]): string {
  return inlines.map((inline) => (inline.of === 'break' ? '<br>' : writeRun(inline))).join('');
}

function writeRun({ text, style, href }: TextRun): string {
  const inside = style.reduceRight((inner, one) => element(elementOfStyle[one], inner), escapeText(text));
  if (href === null) return inside;
  return `<a href="${escapeText(href).replaceAll('"', '&quot;')}" rel="noopener noreferrer">${inside}</a>`;
}

function element(name: string, inside: string): string {
  return `<${name}>${inside}</${name}>`;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
