import type { Adapter } from '../adapters/adapter.ts';
import { withSpan } from '../lib/tracing.ts';

/** The calls that ask or change one thing in a tool. Listings end when their caller has read enough. */
const calls = [
  'check',
  'findMember',
  'addMember',
  'removeMember',
  'findAccount',
  'findAccountById',
  'endAssignments',
  'removeAccount',
  'updateEmail',
  'renewInvitation',
  'resetInvitations',
  'readGuidelines',
  'writeGuidelines',
] as const satisfies readonly (keyof Adapter)[];

/** Wraps an adapter so that each call is a span. */
export function traceTool(tool: string, adapter: Adapter, server: string | null): Adapter {
  const traced: Adapter = { ...adapter };
  const attributes = { 'gangway.tool': tool, ...(server !== null && { 'server.address': server }) };
  for (const name of calls) {
    const call: unknown = adapter[name];
    if (typeof call !== 'function') continue;
    const within = async (...args: unknown[]): Promise<unknown> =>
      await withSpan(`tool ${name}`, { kind: 'client', attributes }, async () => Reflect.apply(call, adapter, args));
    Reflect.set(traced, name, within);
  }
  return traced;
}

/** The host of a tool that is reached by a URL. */
export function hostOf({ url }: { url?: unknown }): string | null {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname : null;
}
