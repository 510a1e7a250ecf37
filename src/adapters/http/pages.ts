import { AppError } from '../../domain/errors.ts';
import type { HttpAnswer } from '../../lib/http-client.ts';
import { pick } from './answer.ts';
import type { PageSettings } from './http-schema.ts';

/** A page as it was read. */
export interface AnswerPage {
  answer: HttpAnswer;
  /** Where the answer came from. */
  url: string;
  /** How many items stand on it, and on all pages so far. */
  count: number;
  gathered: number;
  /** Which page this is, from 0. */
  index: number;
}

/** Where the next page is: one more parameter of the query, or another URL of the same tool. */
export type NextPage = { query: [name: string, value: string] } | { url: string };

/** What the first request has to ask for. */
export function firstPage(settings: PageSettings): NextPage | undefined {
  return settings.by === 'page' ? { query: [settings.query, String(settings.first)] } : undefined;
}

/**
 * Decides where a list goes on.
 *
 * @returns undefined where it has ended
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
 * A page is the last when nobody stands on it: a tool may give fewer at a time than it was asked
 * for, so a short page proves nothing.
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

/** A cursor or a link; what is missing, null or empty says that there is no more. */
function toMark(mark: unknown): string | undefined {
  if (mark === undefined || mark === null || mark === '' || mark === false) return undefined;
  if (typeof mark === 'string') return mark;
  if (Number.isSafeInteger(mark)) return String(mark);
  throw new AppError('invalid', 'Could not list the members: what leads to the next page is no text');
}

/** The credential goes with it, so it must not lead elsewhere. */
function toOwnUrl(link: string, from: string): string {
  const url = URL.parse(link, from);
  const isOwn = url !== null && url.origin === new URL(from).origin && url.username + url.password === '';
  if (isOwn) return url.href;
  throw new AppError('invalid', 'Could not list the members: the next page is on another server');
}

/** RFC 8288, as far as tools use it: `<https://…>; rel="next"`. */
export function nextLinkOf(header: string): string | undefined {
  for (const [, link, parameters = ''] of header.matchAll(/<([^>]*)>([^<]*)/g)) {
    const [, relations = ''] = /;\s*rel\s*=\s*"?([^";,]*)/i.exec(parameters) ?? [];
    if (relations.toLowerCase().split(/\s+/).includes('next')) return link;
  }
  return undefined;
}
