import { AppError } from '../domain/errors.ts';
import type { Adapter, Member, UsageNote, UsageObservation, UsageRequest } from './adapter.ts';
import { memberFaults } from './adapter-faults.ts';

/**
 * An adapter that others wrote. Its answers are checked against the port. Of its errors only the line
 * of the code is kept, because their text may contain secrets.
 */
export function guardAdapter(adapter: Adapter): Adapter {
  const { identify, canonicalGroup, endAssignments, removeAccount, updateEmail } = adapter;
  return {
    capabilities: adapter.capabilities,
    check: (signal) =>
      guard('check', signal, async () => {
        const findings: unknown = await adapter.check(signal);
        return Array.isArray(findings) ? findings : [];
      }),
    ...(identify && {
      identify: (signal) =>
        guard('identify', signal, async () => {
          const identity: unknown = await identify.call(adapter, signal);
          if (typeof identity === 'string' || identity === null) return identity;
          throw wrong('identify', 'neither a text nor null');
        }),
    }),
    groupFor(link) {
      const group: unknown = guardNow('groupFor', () => adapter.groupFor(link));
      if (typeof group === 'string') return group;
      throw wrong('groupFor', 'no text');
    },
    ...(canonicalGroup && {
      canonicalGroup(project) {
        const form: unknown = guardNow('canonicalGroup', () => canonicalGroup.call(adapter, project));
        if (typeof form === 'string' || form === null) return form;
        throw wrong('canonicalGroup', 'neither a text nor null');
      },
    }),
    findMember: (group, person, signal) =>
      guard('findMember', signal, async () => {
        const member = await adapter.findMember(group, person, signal);
        return member === null ? null : toChecked('findMember', member);
      }),
    ...guardAccounts(adapter),
    addMember: (group, person, signal) =>
      guard('addMember', signal, async () => toChecked('addMember', await adapter.addMember(group, person, signal))),
    removeMember: (group, member, signal) =>
      guard('removeMember', signal, () => adapter.removeMember(group, member, signal)),
    ...(endAssignments && {
      endAssignments: (group, member, project, signal) =>
        guard('endAssignments', signal, () => endAssignments.call(adapter, group, member, project, signal)),
    }),
    ...(removeAccount && {
      removeAccount: (group, member, signal) =>
        guard('removeAccount', signal, () => removeAccount.call(adapter, group, member, signal)),
    }),
    ...(updateEmail && {
      updateEmail: (group, member, email, signal) =>
        guard('updateEmail', signal, () => updateEmail.call(adapter, group, member, email, signal)),
    }),
    ...guardLists(adapter),
    ...guardInvitations(adapter),
    ...guardUsage(adapter),
    ...guardGuidelines(adapter),
  };
}

function guardAccounts(adapter: Adapter): Pick<Adapter, 'findAccount' | 'findAccountById'> {
  const { findAccount, findAccountById } = adapter;
  return {
    ...(findAccount && {
      findAccount: (person, signal) =>
        guard('findAccount', signal, async () => {
          const account = await findAccount.call(adapter, person, signal);
          return account === null ? null : toChecked('findAccount', account);
        }),
    }),
    ...(findAccountById && {
      findAccountById: (id, signal) =>
        guard('findAccountById', signal, async () => {
          const account = await findAccountById.call(adapter, id, signal);
          return account === null ? null : toChecked('findAccountById', account);
        }),
    }),
  };
}

function guardLists(adapter: Adapter): Pick<Adapter, 'listMembers' | 'listNewcomers'> {
  const { listMembers, listNewcomers } = adapter;
  return {
    ...(listMembers && {
      listMembers: (group, signal) => guardList('listMembers', listMembers.bind(adapter, group, signal), signal),
    }),
    ...(listNewcomers && {
      listNewcomers: (group, since, signal) =>
        guardList('listNewcomers', listNewcomers.bind(adapter, group, since, signal), signal),
    }),
  };
}

function guardInvitations(adapter: Adapter): Pick<Adapter, 'renewInvitation' | 'resetInvitations'> {
  const { renewInvitation, resetInvitations } = adapter;
  return {
    ...(renewInvitation && {
      renewInvitation: (group, member, signal) =>
        guard('renewInvitation', signal, () => renewInvitation.call(adapter, group, member, signal)),
    }),
    ...(resetInvitations && {
      resetInvitations: (group, signal) =>
        guard('resetInvitations', signal, () => resetInvitations.call(adapter, group, signal)),
    }),
  };
}

function guardUsage(adapter: Adapter): Pick<Adapter, 'usageScopeFor' | 'readUsage'> {
  const { usageScopeFor, readUsage } = adapter;
  return {
    ...(usageScopeFor && {
      usageScopeFor: (link) => guardNow('usageScopeFor', () => usageScopeFor.call(adapter, link)),
    }),
    ...(readUsage && {
      readUsage: (scope, request, signal) => guardReading(readUsage.bind(adapter), scope, request, signal),
    }),
  };
}

function guardGuidelines(adapter: Adapter): Pick<Adapter, 'readGuidelines' | 'writeGuidelines'> {
  const { readGuidelines, writeGuidelines } = adapter;
  return {
    ...(readGuidelines && {
      readGuidelines: (project, signal) =>
        guard('readGuidelines', signal, async () => {
          const text: unknown = await readGuidelines.call(adapter, project, signal);
          if (typeof text === 'string') return text;
          throw wrong('readGuidelines', 'no text');
        }),
    }),
    ...(writeGuidelines && {
      writeGuidelines: (project, text, signal) =>
        guard('writeGuidelines', signal, () => writeGuidelines.call(adapter, project, text, signal)),
    }),
  };
}

async function* guardReading(
  read: NonNullable<Adapter['readUsage']>,
  scope: string,
  request: UsageRequest,
  signal: AbortSignal,
): AsyncGenerator<UsageObservation | UsageNote> {
  try {
    signal.throwIfAborted();
    yield* read(scope, request, signal);
  } catch (error) {
    throw toGuarded(error, 'readUsage', signal);
  }
}

async function guard<T>(what: string, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  try {
    signal.throwIfAborted();
    return await call();
  } catch (error) {
    throw toGuarded(error, what, signal);
  }
}

function guardNow<T>(what: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw toGuarded(error, what);
  }
}

async function* guardList(
  what: string,
  list: () => AsyncIterable<Member>,
  signal: AbortSignal,
): AsyncGenerator<Member> {
  try {
    signal.throwIfAborted();
    for await (const member of list()) yield toChecked(what, member);
  } catch (error) {
    throw toGuarded(error, what, signal);
  }
}

function toChecked<M extends Member>(what: string, member: M): M {
  const [fault] = memberFaults(member);
  if (fault === undefined) return member;
  throw wrong(what, fault);
}

function wrong(what: string, fault: string): AppError {
  return new AppError('internal', `The adapter's ${what} answered ${fault}`);
}

/** The cause is not kept, because a log would show it. */
export function toGuarded(error: unknown, what: string, signal?: AbortSignal): AppError {
  if (error instanceof AppError) return error;
  if (signal?.aborted) return new AppError('unavailable', `The adapter's ${what} was given up`);
  return new AppError('internal', `The adapter's ${what} failed: ${describe(error)}`);
}

const longestStack = 4000;

/** `TypeError at my-tool.ts:23`: without the message, and with one line of the stack. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'it threw no error';
  const name = /^\w{1,40}$/.test(error.name) ? error.name : 'Error';
  const stack = String(error.stack);
  const header = stack.indexOf(error.message) + error.message.length;
  const [, line] = /([\w.-]{1,80}:\d+):\d+\)?\s*$/m.exec(stack.slice(header, header + longestStack)) ?? [];
  return line === undefined ? name : `${name} at ${line}`;
}
