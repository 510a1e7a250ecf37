import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { Adapter } from '../adapters/adapter.ts';
import { wrapCalls } from '../adapters/adapter-schema.ts';
import type { Context, Storage } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { isOtherServer, type Server } from '../domain/binding.ts';
import { AppError } from '../domain/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { dropTrailing } from '../lib/text.ts';
import { findToolBinding, learnToolBinding, listToolBindings, renameToolBinding } from './tool-binding-store.ts';

/** After this time the server is asked again, because another one may answer at the same address. */
const believedForMs = 10 * 60_000;

/**
 * Wraps an adapter so that it checks which server the tool is before any look or call. On another server, the known
 * members would be missing, and Gangway would add them there. Until an operator accepts the other server or the right one
 * is back, every call fails as `unavailable` and is retried, so nobody is removed or added.
 *
 * @param isDry whether nothing may be written
 */
export function bindTool(ctx: Context, tool: string, adapter: Adapter, isDry = false): Adapter {
  const { config, clock, alerts } = ctx;
  const location = locationOf(config.tools.get(tool)?.settings ?? {});
  let believedUntilMs = Number.NEGATIVE_INFINITY;
  let isAlerted = false;

  async function verify(signal: AbortSignal): Promise<void> {
    if (clock.now().getTime() < believedUntilMs) return;
    const server = await askServer(adapter, location, signal);
    const bound = await findToolBinding(ctx, tool);
    if (bound !== undefined && isOtherServer(bound, server)) throw refuse(describeOtherServer(tool, bound, server));
    const twin = await findTwin(ctx, new Set(config.tools.keys()), tool, server);
    if (twin !== undefined) throw refuse(describeTwin(tool, twin));
    if (!isDry) await learnToolBinding(ctx, tool, server);
    isAlerted = false;
    if (!isDry) alerts.observe('other_server', { tool }, []);
    believedUntilMs = clock.now().getTime() + believedForMs;
  }

  function refuse(reason: string): AppError {
    if (!isAlerted) alerts.raise('other_server', { tool, reason });
    isAlerted = true;
    return new AppError('unavailable', reason);
  }

  return withFirst(adapter, verify);
}

/** @returns another configured tool that is bound to the same server */
export async function findTwin(
  ctx: Storage,
  configured: ReadonlySet<string>,
  tool: string,
  server: Server,
): Promise<string | undefined> {
  const bindings = await listToolBindings(ctx);
  return bindings.find((one) => one.tool !== tool && configured.has(one.tool) && isSameServer(one, server))?.tool;
}

export function describeTwin(tool: string, twin: string): string {
  return (
    `Tools ${twin} and ${tool} are the same server, so one would remove the people of the other: ` +
    `keep tools.${twin}, and connect the installs of ${tool} to it`
  );
}

/**
 * Refuses two names of one server without asking the tools. Tools that have an identity may share an address.
 *
 * @throws AppError `invalid`
 */
export function refuseTwins(
  tools: ReadonlyMap<string, { settings: object }>,
  adapters: ReadonlyMap<string, Adapter>,
): void {
  const seen: [string, Server][] = [];
  for (const [tool, { settings }] of tools) {
    if (adapters.get(tool)?.identify !== undefined) continue;
    const server = { identity: null, location: locationOf(settings) };
    const twin = seen.find(([, other]) => isSameServer(other, server));
    if (twin !== undefined) throw new AppError('invalid', describeTwin(tool, twin[0]));
    seen.push([tool, server]);
  }
}

export async function askServer(adapter: Adapter, location: string | null, signal: AbortSignal): Promise<Server> {
  return { identity: (await adapter.identify?.(signal)) ?? null, location };
}

export function describeOtherServer(tool: string, bound: Server, server: Server): string {
  const [was, is] =
    bound.identity !== null && server.identity !== null
      ? [bound.identity, server.identity]
      : [bound.location, server.location];
  return (
    `Tool ${tool} is now another server (${is}), and its members are on the one before (${was}): ` +
    `check the address in tools.${tool}. If the new server is right, run gangway tools accept ${tool}`
  );
}

/** The address or file of a tool. Of a URL only host, port (unless it is the default) and path, without trailing slashes. */
export function locationOf(settings: object): string | null {
  const { url, path } = settings as { url?: unknown; path?: unknown };
  if (typeof url === 'string' && URL.canParse(url)) {
    const { host, pathname } = new URL(url);
    return dropTrailing(`${host}${pathname}`, '/');
  }
  return typeof path === 'string' ? path : null;
}

/** Verifies before each call that asks or changes the tool. */
function withFirst(adapter: Adapter, verify: (signal: AbortSignal) => Promise<void>): Adapter {
  return wrapCalls(adapter, (call, name, { answers }) => {
    if (answers === 'now' || name === 'identify') return call;
    if (name === 'check') {
      return async (signal) => {
        // If the tool does not answer, its own check explains that best.
        const findings = await call(signal);
        await verify(signal);
        return findings;
      };
    }
    if (answers === 'later') {
      return async (...args) => {
        await verify(args.at(-1));
        return await call(...args);
      };
    }
    return async function* (...args) {
      await verify(args.at(-1));
      yield* call(...args);
    };
  });
}

/** Compares the identities if both servers have one, otherwise the addresses or files. */
export function isSameServer(one: Server, other: Server): boolean {
  if (one.identity !== null && other.identity !== null) return one.identity === other.identity;
  if (one.location === null || other.location === null) return false;
  return one.location === other.location || realPathOf(one.location) === realPathOf(other.location);
}

/** Follows symbolic links; the file need not exist. Two different addresses stay different. */
function realPathOf(location: string): string {
  const file = path.resolve(location);
  try {
    return realpathSync(file);
  } catch {
    return file === path.dirname(file) ? file : path.join(realPathOf(path.dirname(file)), path.basename(file));
  }
}

/**
 * Carries what is stored about a tool over to its new name: a tool is its server, so what is ours in it stays ours. Not
 * to a name that was used before, nor if the new name is ambiguous.
 */
export async function carryTools(
  ctx: Storage,
  tools: ReadonlyMap<string, { settings: object }>,
  logger: Logger,
): Promise<void> {
  const bound = await listToolBindings(ctx);
  const unused = bound.filter(({ tool }) => !tools.has(tool));
  if (unused.length === 0) return;
  const known = new Set(bound.map(({ tool }) => tool));
  const added = [...tools]
    .filter(([tool]) => !known.has(tool))
    .map(([tool, { settings }]) => ({ tool, server: { identity: null, location: locationOf(settings) } }));
  for (const { tool: from, ...server } of unused) {
    const [to, ...others] = added.filter((one) => isSameServer(server, one.server));
    if (to === undefined || others.length > 0) continue;
    if (unused.filter((one) => isSameServer(one, to.server)).length > 1) continue;
    const isCarried = await inTransaction(ctx.database, (tx) => renameToolBinding(ctx, tx, from, to.tool));
    if (isCarried) logger.warn({ from, to: to.tool }, 'A tool was renamed in the configuration; its members were kept');
  }
}
