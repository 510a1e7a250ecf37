import { html } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { By } from '../db/audit-store.ts';
import type { OperationContext } from '../operations/operation.ts';
import type { Operator } from './sign-in/tokens.ts';
import type { StartedActs } from './started-acts.ts';

/**
 * What pages are made of. A page is a function from a request to an answer and knows nothing of Express; what goes into
 * `html` is escaped.
 */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** A request to the console, after its checks. */
export interface PageRequest {
  operator: Operator;
  /** The operator and the time, for the audit log. */
  by: By;
  path: string;
  /** The parameters of the route. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** The fields of the form; empty without one. */
  form: URLSearchParams;
  /** What every form must contain; `formOf` puts it there. */
  csrf: string;
}

export interface ConsoleContext extends OperationContext {
  startedActs: StartedActs;
}

export type Answer = Page | Redirect | Download;

export interface Page {
  title: string;
  /** Beside the title: a badge or a count, and what can be done with all of the page. */
  note?: Html | undefined;
  acts?: Html | string;
  body: Html;
  /** 200 by default. */
  status?: number;
  /** After how many seconds a browser asks again, with JavaScript and without, as what it shows is under way. */
  refreshSeconds?: number;
  /** Of a page that takes long to make: an open one does not follow what changes. */
  isStill?: boolean;
}

/** After an act. */
export interface Redirect {
  redirect: string;
  /** The outcome of the act, shown at the top of the next page. */
  notice?: string;
}

export interface Download {
  fileName: string;
  /** The media type. */
  type: string;
  content: string | Uint8Array;
}

/** A page with an address. It changes nothing. */
export interface View {
  /** As Express writes it, such as `/plans/:plan`. */
  path: string;
  show(request: PageRequest, ctx: ConsoleContext): Answer | Promise<Answer>;
}

/** Something that operators can do, and viewers cannot. */
export interface Act {
  path: string;
  act(request: PageRequest, ctx: ConsoleContext): Answer | Promise<Answer>;
}

/** A form that is sent to an act. A viewer gets none. */
export function formOf({ operator, csrf }: PageRequest, action: string, content: Html): Html | string {
  if (operator.role !== 'operator') return '';
  return html`<form method="post" action="${action}">
    <input type="hidden" name="csrf" value="${csrf}" />
    ${content}
  </form>`;
}

/** The address of a page, to come back to it. Without a started answer, which may be old by then. */
export function addressOf({ path, query }: Pick<PageRequest, 'path' | 'query'>): string {
  const kept = new URLSearchParams([...query].filter(([name]) => name !== 'started'));
  return kept.size === 0 ? path : `${path}?${kept}`;
}
