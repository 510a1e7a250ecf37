import { readFileSync } from 'node:fs';
import type { Paging } from './rest-tool-state.ts';

interface Example {
  requests: Record<string, object>;
  [key: string]: unknown;
}

/** The whole example in the README of the adapter `http`, pointed at another tool. */
export function exampleSettings(tool: { url: string; token: string }): Example {
  const readme = readFileSync('src/adapters/http/README.md', 'utf8');
  const [, block = ''] = /```json\n([\s\S]*?)```/.exec(readme) ?? [];
  const { adapter: _, ...settings } = JSON.parse(block) as Example;
  return { ...settings, url: tool.url, token: tool.token };
}

const pagings: Record<Paging, object> = {
  page: { by: 'page', query: 'page' },
  offset: { by: 'offset', query: 'offset' },
  cursor: { by: 'cursor', query: 'cursor', at: 'meta.cursor' },
  link: { by: 'link', at: 'next' },
  link_header: { by: 'link_header' },
};

/** The example with only the required settings: a list, in which an added member is looked for. */
export function sparseSettings(tool: { url: string; token: string }, paging: Paging): Example {
  const settings = exampleSettings(tool);
  const { check, add, list, remove } = settings.requests;
  const { item: _, present: __, ...blind } = { item: '', present: [], ...add };
  const paged = { ...list, pages: pagings[paging] };
  return { ...settings, requests: { check, add: blind, list: paged, remove } as never };
}
