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

/** Every address that a reader can follow. */
export function addressesIn(shown: HTMLElement): string[] {
  return shown.querySelectorAll('[href]').map((one) => toPlain(one.getAttribute('href') ?? ''));
}

/** Every address of a link in a tree of nodes. */
export function addressesOf(node: unknown): Set<string> {
  if (typeof node !== 'object' || node === null) return new Set();
  const own: unknown = Reflect.get(node, 'href');
  const url = typeof own === 'string' ? URL.parse(own) : null;
  const below = Object.values(node).flatMap((child) => [...addressesOf(child)]);
  return new Set(url === null ? below : [...below, toPlain(url.href)]);
}

/**
 * Writers and readers escape what may stand unescaped, or not: that makes it no other address. `marked` knows no entities
 * in an address, as CommonMark does.
 */
function toPlain(address: string): string {
  const bytes = (text: string) => Buffer.from(text).toString('latin1');
  const toBytes = (escaped: string) => Buffer.from(escaped.replaceAll('%', ''), 'hex').toString('latin1');
  return bytes(address.replaceAll('&amp;', '&')).replaceAll(/(?:%[0-9a-f]{2})+/gi, toBytes);
}
