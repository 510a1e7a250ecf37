import type { Adapter } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { isOtherServer, type Server } from '../domain/binding.ts';
import { AppError } from '../domain/errors.ts';
import type { Storage } from '../keys/storage.ts';
import { dropTrailing } from '../lib/drop-trailing.ts';
import { isSameServer } from './same-server.ts';
import { findToolBinding, learnToolBinding, listToolBindings } from './tool-binding-store.ts';

/** The server is asked again after this time, because another one may answer at the same address. */
const believedForMs = 10 * 60_000;

/**
 * Wraps an adapter so that the tool says which server it is before any look or call. In another server the known
 * members would be missing, and Gangway would add them there. Until an operator accepts the other server, or the right
 * one is back, every call fails as `unavailable` and is retried. Meanwhile no member is removed or added.
 *
 * @param isDry a dry run writes nothing
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
    if (!isAlerted) {
      const message = 'A tool is not the server it was before, so no member is added or removed there';
      alerts.raise('other_server', { tool, reason }, message);
    }
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

/** A message for operators that says what to do. */
export function describeTwin(tool: string, twin: string): string {
  return (
    `Tools ${twin} and ${tool} are the same server, so one would remove the people of the other: ` +
    `keep tools.${twin}, and connect the installs of ${tool} to it`
  );
}

/**
 * Refuses two names of one server before anything is asked. Tools that tell an identity may share an address.
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

/** What the server says about itself, and its configured address. */
export async function askServer(adapter: Adapter, location: string | null, signal: AbortSignal): Promise<Server> {
  return { identity: (await adapter.identify?.(signal)) ?? null, location };
}

/** A message for operators that says what to do. */
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

/**
 * The address or path of a tool as one text. It leaves out scheme, default port, trailing slash, credentials and query.
 * It keeps host, any other port and the path.
 */
export function locationOf(settings: object): string | null {
  const { url, path } = settings as { url?: unknown; path?: unknown };
  if (typeof url === 'string' && URL.canParse(url)) {
    const { host, pathname } = new URL(url);
    return dropTrailing(`${host}${pathname}`, '/');
  }
  return typeof path === 'string' ? path : null;
}

type Verify = (signal: AbortSignal) => Promise<void>;

/** Wraps the calls that ask or change the tool. The other members of an adapter are pure. */
function withFirst(adapter: Adapter, verify: Verify): Adapter {
  const { findAccount, findAccountById, endAssignments, removeAccount, updateEmail } = adapter;
  const { listMembers, listNewcomers, renewInvitation, resetInvitations, readUsage } = adapter;
  const { readGuidelines, writeGuidelines } = adapter;
  const first = beginWith(verify);
  const firstOfAll = beginListWith(verify);
  return {
    ...adapter,
    async check(signal) {
      // If the tool does not answer, the error of its own check explains that best.
      const findings = await adapter.check(signal);
      await verify(signal);
      return findings;
    },
    findMember: first(adapter.findMember.bind(adapter)),
    addMember: first(adapter.addMember.bind(adapter)),
    removeMember: first(adapter.removeMember.bind(adapter)),
    ...(findAccount && { findAccount: first(findAccount.bind(adapter)) }),
    ...(findAccountById && { findAccountById: first(findAccountById.bind(adapter)) }),
    ...(endAssignments && { endAssignments: first(endAssignments.bind(adapter)) }),
    ...(removeAccount && { removeAccount: first(removeAccount.bind(adapter)) }),
    ...(updateEmail && { updateEmail: first(updateEmail.bind(adapter)) }),
    ...(renewInvitation && { renewInvitation: first(renewInvitation.bind(adapter)) }),
    ...(resetInvitations && { resetInvitations: first(resetInvitations.bind(adapter)) }),
    ...(readGuidelines && { readGuidelines: first(readGuidelines.bind(adapter)) }),
    ...(writeGuidelines && { writeGuidelines: first(writeGuidelines.bind(adapter)) }),
    ...(listMembers && { listMembers: firstOfAll(listMembers.bind(adapter)) }),
    ...(listNewcomers && { listNewcomers: firstOfAll(listNewcomers.bind(adapter)) }),
    ...(readUsage && { readUsage: firstOfAll(readUsage.bind(adapter)) }),
  };
}

/** The signal is the last argument of every call of the port. */
type Args = [...unknown[], AbortSignal];

function beginWith(verify: Verify) {
  return <A extends Args, T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      await verify(args.at(-1) as AbortSignal);
      return await call(...args);
    };
}

function beginListWith(verify: Verify) {
  return <A extends Args, T>(list: (...args: A) => AsyncIterable<T>) =>
    async function* (...args: A): AsyncGenerator<T> {
      await verify(args.at(-1) as AbortSignal);
      yield* list(...args);
    };
}
