import type { Adapter } from '../adapters/adapter.ts';
import { wrapCalls } from '../adapters/adapter-schema.ts';
import { withSpan } from '../lib/tracing.ts';

/**
 * Wraps an adapter so that each call that asks or changes one thing is a span. Listings end when their caller has read
 * enough.
 */
export function traceTool(tool: string, adapter: Adapter, server: string | null): Adapter {
  const attributes = { 'gangway.tool': tool, ...(server !== null && { 'server.address': server }) };
  return wrapCalls(adapter, (call, name, { answers }) => {
    if (answers !== 'later') return call;
    return (...args) => withSpan(`tool ${name}`, { kind: 'client', attributes }, async () => call(...args));
  });
}

/** The host of a tool that is reached by a URL. */
export function hostOf({ url }: { url?: unknown }): string | null {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname : null;
}
