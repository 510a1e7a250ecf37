import { marked } from 'marked';
import { type HTMLElement, NodeType, parse } from 'node-html-parser';

/** What a trainer is shown: by the browser for HTML, and by a reader of Markdown that lets HTML through and makes links. */

export function shownByMarkdown(text: string): HTMLElement {
  return readHtml(marked.parse(text, { async: false, gfm: true }));
}

/** Nothing is left out as a block of text, so that every tag is seen. */
export function readHtml(text: string): HTMLElement {
  return parse(text, { comment: true, blockTextElements: {} });
}

const harmless = new Set(
  [
    ...['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'hr', 'br', 'a'],
    ...['strong', 'em', 's', 'del', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ].map((name) => name.toUpperCase()),
);

/** Every element, attribute and address that must not be there. */
export function harmIn(shown: HTMLElement): string[] {
  const elements = shown.querySelectorAll('*');
  return elements.flatMap((one) => [
    ...(harmless.has(one.tagName) ? [] : [`<${one.tagName}>`]),
    ...Object.entries(one.attributes).flatMap(([name, value]) => harmInAttribute(one.tagName, name, value)),
    ...one.childNodes.filter(({ nodeType }) => nodeType === NodeType.COMMENT_NODE).map(() => 'a comment'),
  ]);
}

function harmInAttribute(tag: string, name: string, value: string): string[] {
  const isFine =
    (tag === 'A' && name === 'href' && /^https?:\/\//.test(value)) ||
    (tag === 'A' && name === 'rel' && value === 'noopener noreferrer') ||
    (tag === 'OL' && name === 'start' && /^\d+$/.test(value));
  return isFine ? [] : [`<${tag} ${name}="${value}">`];
}
