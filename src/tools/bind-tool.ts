import type { Adapter } from '../adapters/adapter.ts';
import type { Database } from '../db/database.ts';
import { isOtherServer, type Server } from '../domain/binding.ts';
import { AppError } from '../domain/errors.ts';
import type { Alerts } from '../lib/alerts.ts';
import type { Clock } from '../lib/clock.ts';
import { createToolBindingStore } from './tool-binding-store.ts';

export interface BindToolDeps {
  database: Database;
  alerts: Pick<Alerts, 'raise'>;
  clock: Clock;
  /** Whether nothing is to be written. */
  isDry?: boolean | undefined;
}

/** Which server answers is asked again after so long: another may stand behind the same address. */
const believedForMs = 10 * 60_000;

/**
 * A tool that is asked which server it is before anything is looked at, judged or done there: those
 * that are known to be in it are in one server, and in another they would be missing, or added. Until
 * an operator accepts the other server, or the right one is back, every call is `unavailable`, and so
 * is tried again; nobody is removed or added meanwhile.
 *
 * @param place where it stands, as configured
 */
export function bindTool(deps: BindToolDeps, tool: string, adapter: Adapter, place: string | null): Adapter {
  const bindings = createToolBindingStore(deps.database);
  let believedUntilMs = Number.NEGATIVE_INFINITY;
  let isAlerted = false;

  async function verify(signal: AbortSignal): Promise<void> {
    if (deps.clock.now().getTime() < believedUntilMs) return;
    const server = await askServer(adapter, place, signal);
    const bound = await bindings.find(tool);
    if (bound !== undefined && isOtherServer(bound, server)) throw refuse(bound, server);
    if (!deps.isDry) await bindings.learn(tool, server);
    isAlerted = false;
    believedUntilMs = deps.clock.now().getTime() + believedForMs;
  }

  function refuse(bound: Server, server: Server): AppError {
    const reason = describeOtherServer(tool, bound, server);
    if (!isAlerted) {
      const message = 'A tool is another server than before: nobody is added or removed there';
      deps.alerts.raise('other_server', { tool, reason }, message);
    }
    isAlerted = true;
    return new AppError('unavailable', reason);
  }

  return withFirst(adapter, verify);
}

/** What it says of itself, and where it stands. */
export async function askServer(adapter: Adapter, place: string | null, signal: AbortSignal): Promise<Server> {
  return { identity: (await adapter.identify?.(signal)) ?? null, place };
}

/** For operators, with what to do. */
export function describeOtherServer(tool: string, bound: Server, server: Server): string {
  const [was, is] =
    bound.identity !== null && server.identity !== null
      ? [bound.identity, server.identity]
      : [bound.place, server.place];
  return (
    `The tool ${tool} is another server (${is}) than its people are in (${was}): ` +
    `see that tools.${tool} leads where it is to lead. If it is meant: gangway tools accept ${tool}`
  );
}

/**
 * Where a tool stands, as one text: address or path. Scheme, usual port, a slash at the end,
 * credentials and query are no part of it; host, any other port and the path are.
 */
export function placeOf(settings: object): string | null {
  const { url, path } = settings as { url?: unknown; path?: unknown };
  if (typeof url === 'string' && URL.canParse(url)) {
    const { host, pathname } = new URL(url);
    return `${host}${pathname}`.replace(/\/+$/, '');
  }
  return typeof path === 'string' ? path : null;
}

type Verify = (signal: AbortSignal) => Promise<void>;

/** Calls that ask or change the tool; whatever else there is is pure. */
function withFirst(adapter: Adapter, verify: Verify): Adapter {
  const { findAccount, findAccountById, endAssignments, removeAccount, updateEmail } = adapter;
  const { listMembers, listNewcomers, renewInvitation, resetInvitations, readUsage } = adapter;
  const first = beginWith(verify);
  const firstOfAll = beginListWith(verify);
  return {
    ...adapter,
    async check(signal) {
      // It says best what is wrong where nothing of the kind answers.
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
    ...(listMembers && { listMembers: firstOfAll(listMembers.bind(adapter)) }),
    ...(listNewcomers && { listNewcomers: firstOfAll(listNewcomers.bind(adapter)) }),
    ...(readUsage && { readUsage: firstOfAll(readUsage.bind(adapter)) }),
  };
}

/** The signal comes last in every call of the port. */
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
