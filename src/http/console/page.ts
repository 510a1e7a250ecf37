import { html } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { By } from '../../db/audit-store.ts';
import type { OperationContext } from '../../operations/operation.ts';
import type { Operator } from './sign-in.ts';
import type { StartedActs } from './started-acts.ts';

/**
 * What pages are made of. A page is a function from a request to an answer and does not know Express. Values in `html`
 * templates are escaped.
 */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** A request to the console that has passed all checks. */
export interface PageRequest {
  operator: Operator;
  /** The operator and the time, for the audit log. */
  by: By;
  path: string;
  /** The parameters of the route. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** The fields of the form; empty if there is none. */
  form: URLSearchParams;
  /** Every form must contain it; `formOf` adds it. */
  csrf: string;
}

export interface ConsoleContext extends OperationContext {
  startedActs: StartedActs;
}

export type Answer = Page | Redirect | Download;

export interface Page {
  title: string;
  /** A badge or a count beside the title. */
  note?: Html | undefined;
  /** Buttons and links beside the title. */
  acts?: Html | string;
  body: Html;
  /** 200 by default. */
  status?: number;
  /** After how many seconds the browser reloads, with or without JavaScript, because something is running. */
  refreshSeconds?: number;
  /** Whether an open page is not reloaded when data changes, because it takes long to make. */
  isStill?: boolean;
}

export interface Redirect {
  redirect: string;
  /** The outcome of the act, shown at the top of the next page. */
  notice?: string;
}

export interface Download {
  fileName: string;
  /** The media type. */
  type: string;
  content: string | Buffer;
}

/** A page at an address. It changes nothing. */
export interface View<Shown = Answer> {
  /** An Express route, such as `/plans/:plan`. */
  path: string;
  show(request: PageRequest, ctx: ConsoleContext): Shown | Promise<Shown>;
}

/** Something that only operators can do. */
export interface Act {
  path: string;
  act(request: PageRequest, ctx: ConsoleContext): Answer | Promise<Answer>;
}

/** A form that posts to an act. A viewer gets none. */
export function formOf({ operator, csrf }: PageRequest, action: string, content: Html): Html | string {
  if (operator.role !== 'operator') return '';
  return html`<form method="post" action="${action}">
    <input type="hidden" name="csrf" value="${csrf}" />
    ${content}
  </form>`;
}

/** The address to come back to. It leaves out a started answer, which may be outdated by then. */
export function addressOf({ path, query }: Pick<PageRequest, 'path' | 'query'>): string {
  const kept = new URLSearchParams([...query].filter(([name]) => name !== 'started'));
  return kept.size === 0 ? path : `${path}?${kept}`;
}
