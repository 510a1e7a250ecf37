import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { toAppError } from '../domain/errors.ts';

/**
 * Spans for the operator's OpenTelemetry SDK. Without one, all of this does nothing. Attributes are ids, configured
 * names and words of closed sets: no addresses, no names of people, no tokens.
 */

/** A W3C `traceparent`: where a span that follows belongs. It can be stored. */
export type TraceContext = string;

interface SpanOptions {
  /** `server` and `client`: a request that came in or went out. */
  kind?: 'internal' | 'server' | 'client' | 'consumer';
  attributes?: Attributes;
  /** What caused it; null for nothing known. Left out, it belongs to the span that is open. */
  parent?: TraceContext | null | undefined;
  /** When it began, if that was before now. */
  startTime?: number;
}

/** A span that is open. */
export interface OpenSpan {
  set(attributes: Attributes): void;
  /** Null where there is neither an SDK nor a parent. */
  context(): TraceContext | null;
}

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
};

/** Runs work in a span, which ends with it. What it throws is said by its code alone: messages may quote anything. */
export async function withSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  const within = contextOf(options.parent);
  const span = startSpan(name, options, within);
  try {
    return await context.with(trace.setSpan(within, span), () => work(toOpen(span)));
  } catch (thrown) {
    span.setAttribute('error.type', toAppError(thrown).code);
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw thrown;
  } finally {
    span.end();
  }
}

/** A span of something that has just ended. */
export function noteSpan(name: string, options: SpanOptions): void {
  startSpan(name, options, contextOf(options.parent)).end();
}

function startSpan(name: string, { kind = 'internal', parent: _, ...options }: SpanOptions, within: Context): Span {
  return trace.getTracer('gangway').startSpan(name, { kind: kinds[kind], ...options }, within);
}

function contextOf(parent: TraceContext | null | undefined): Context {
  if (parent === undefined) return context.active();
  const spanContext = parseTraceparent(parent);
  return spanContext === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContext);
}

function toOpen(span: Span): OpenSpan {
  return {
    set: (attributes) => void span.setAttributes(attributes),
    context: () => formatTraceparent(span.spanContext()),
  };
}

/** Version 00, in lower case and nothing else: what a stranger might send is not guessed at. */
const pattern = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/;

/** A header as it may be stored; null if it is none. */
export function readTraceparent(header: unknown): TraceContext | null {
  return typeof header === 'string' && parseTraceparent(header) !== null ? header : null;
}

function parseTraceparent(text: string | null): SpanContext | null {
  const [, traceId, spanId, flags] = pattern.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const parsed = { traceId, spanId, traceFlags, isRemote: true };
  return isSpanContextValid(parsed) ? parsed : null;
}

function formatTraceparent(of: SpanContext): TraceContext | null {
  if (!isSpanContextValid(of)) return null;
  const flags = (of.traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0');
  return `00-${of.traceId}-${of.spanId}-${flags}`;
}
