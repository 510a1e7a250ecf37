import { AppError } from '../../domain/errors.ts';
import type { HttpAnswer } from '../../lib/http-client.ts';
import { pick } from './answer.ts';
import type { PageSettings } from './http-schema.ts';

/** A page that was read. */
export interface AnswerPage {
  answer: HttpAnswer;
  /** Where the answer came from. */
  url: string;
  /** How many items are on it. */
  count: number;
  /** How many items are on all pages so far. */
  gathered: number;
  /** The number of the page, from 0. */
  index: number;
}

/** Where the next page is: one more parameter of the query, or another URL of the same tool. */
export type NextPage = { query: [name: string, value: string] } | { url: string };

/** What the first request asks for. */
export function firstPage(settings: PageSettings): NextPage | undefined {
  return settings.by === 'page' ? { query: [settings.query, String(settings.first)] } : undefined;
}

/**
 * Decides what to request next.
 *
 * @returns undefined at the end of the list
 * @throws AppError `invalid` for a link that leads out of the tool or a total that is none,
 * `unavailable` for a list that ended before its total
 */
export function nextPage(settings: PageSettings, page: AnswerPage): NextPage | undefined {
  const { body, headers } = page.answer;
  switch (settings.by) {
    case 'none':
      return undefined;
    case 'page':
      if (hasEnded(settings.total, page)) return undefined;
      return { query: [settings.query, String(settings.first + page.index + 1)] };
    case 'offset':
      if (hasEnded(settings.total, page)) return undefined;
      return { query: [settings.query, String(page.gathered)] };
    case 'cursor': {
      const cursor = toMark(pick(body, settings.at));
      return cursor === undefined ? undefined : { query: [settings.query, cursor] };
    }
    case 'link': {
      const link = toMark(pick(body, settings.at));
      return link === undefined ? undefined : { url: toOwnUrl(link, page.url) };
    }
    case 'link_header': {
      const link = nextLinkOf(headers.get('link') ?? '');
      return link === undefined ? undefined : { url: toOwnUrl(link, page.url) };
    }
  }
}

/**
 * Without a total, only an empty page is the end. A short page proves nothing, because a tool may
 * return fewer members than it was asked for.
 */
function hasEnded(totalPath: string | undefined, { answer, count, gathered }: AnswerPage): boolean {
  if (totalPath === undefined) return count === 0;
  const total = pick(answer.body, totalPath);
  if (!Number.isSafeInteger(total)) {
    throw new AppError('invalid', `Could not list the members: there is no number at "${totalPath}"`);
  }
  if (gathered >= Number(total)) return true;
  if (count > 0) return false;
  throw new AppError('unavailable', `Could not list the members: they ended at ${gathered} of ${String(total)}`);
}

/** A cursor or a link. If it is missing, null or empty, the list has ended. */
function toMark(mark: unknown): string | undefined {
  if (mark === undefined || mark === null || mark === '' || mark === false) return undefined;
  if (typeof mark === 'string') return mark;
  if (Number.isSafeInteger(mark)) return String(mark);
  throw new AppError('invalid', 'Could not list the members: what leads to the next page is no text');
}

/** The credential is sent there, so the link must not leave the server. */
function toOwnUrl(link: string, from: string): string {
  const url = URL.parse(link, from);
  const isOwn = url !== null && url.origin === new URL(from).origin && url.username + url.password === '';
  if (isOwn) return url.href;
  throw new AppError('invalid', 'Could not list the members: the next page is on another server');
}

/** RFC 8288, as far as tools use it: `<https://…>; rel="next"`. */
export function nextLinkOf(header: string): string | undefined {
  for (const [, link, parameters = ''] of header.matchAll(/<([^<>]*)>([^<]*)/g)) {
    const [, relations = ''] = /;\s*rel\s*=\s*"?([^";,]*)/i.exec(parameters) ?? [];
    if (relations.toLowerCase().split(/\s+/).includes('next')) return link;
  }
  return undefined;
}
