import type { Config } from '../config/config-schema.ts';
import { toAppError } from '../domain/errors.ts';
import type { MembershipState } from '../domain/membership.ts';
import { describeCause } from '../domain/standing.ts';
import type { Storage } from '../keys/storage.ts';
import { systemClock, toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { adoptDoubted } from '../memberships/doubt-store.ts';
import { type ListedMembership, listMemberships } from '../memberships/membership-list-store.ts';
import { adoptMember } from '../memberships/ownership-store.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import { listWaiting, type WaitingMember } from '../operator/list-waiting.ts';
import { type Release, releaseMembership } from '../operator/release-membership.ts';
import type { Printed } from './define-command.ts';
import { refuseUnknownTool } from './pick-install.ts';
import type { StorageSession } from './session.ts';
import { decidedBy } from './with-storage.ts';

/** `gangway members`: the memberships, their states, and which of them are ours. */

export interface MemberFilter {
  tool: string | undefined;
  state: MembershipState | undefined;
  waiting: boolean;
  undecided: boolean;
  leaving: boolean;
  limit: number;
}

/** If a membership waits, the state says what it waits for. */
export type Listed = ListedMembership & Partial<WaitingMember>;

export async function runMembers(filter: MemberFilter, session: StorageSession): Promise<Printed> {
  const { tool, state, waiting, undecided, leaving, limit } = filter;
  const { config, storage } = session;
  const members: Listed[] = waiting
    ? await listWaiting(storage, { tool, limit, ...toReach(config) })
    : await listMemberships(storage.database.kysely, {
        tool,
        state,
        isUndecided: undecided,
        isLeaving: leaving,
        limit,
      });
  if (members.length === 0) refuseUnknownTool(session, tool);
  return printMembers(members, filter);
}

type Listing = Pick<MemberFilter, 'waiting' | 'leaving'>;

export function printMembers(members: readonly Listed[], { waiting, leaving }: Listing): Printed {
  const rows = members.map(masked);
  return {
    data: { members: members.map(toShown) },
    text() {
      if (waiting) return formatList(rows, waitingColumns, 'No trainer waits.');
      if (leaving) return formatList(rows, leavingColumns, 'No trainer is about to leave.');
      return formatList(rows, columns, 'There are no memberships.');
    },
  };
}

const outcomes = {
  adopted: 'has that account too, and leaves by it as well',
  let_go: 'has nothing to do with that account any more, which stays as it is',
  kept: 'counts as ours, and is removed when nothing speaks for them any more',
  removing: 'counts as ours, and is removed now: nothing speaks for them',
  released: 'counts as not ours and stays',
};

export type Outcome = keyof typeof outcomes;

/** One membership, or else all that are undecided. */
export interface Decided {
  membership: number | undefined;
  tool: string | undefined;
}

export interface Adoption extends Decided {
  account: boolean;
  address: string | undefined;
}

export type Releasing = Decided & Omit<Release, 'membership'>;

export async function runMembersAdopt(adoption: Adoption, { storage }: StorageSession): Promise<Printed> {
  return await decideEach(adoption, 'adopt', listUndecided(storage), (id) => adopt(storage, { ...adoption, id }));
}

export async function runMembersRelease(releasing: Releasing, { config, storage }: StorageSession): Promise<Printed> {
  const { managedDomains } = config.marketplace;
  return await decideEach(releasing, 'release', listUndecided(storage), (membership) =>
    releaseMembership(storage, decidedBy(), { ...releasing, membership }, managedDomains),
  );
}

function listUndecided({ database }: Storage) {
  return (tool: string | undefined) =>
    listMemberships(database.kysely, { tool, isUndecided: true, limit: mostUndecided });
}

export const mostUndecided = 100_000;

type Decision = 'adopt' | 'release';

/** A membership for which the decision is refused does not keep the others from being decided. */
export async function decideEach(
  { membership, tool }: Decided,
  decision: Decision,
  list: (tool: string | undefined) => Promise<{ id: number }[]>,
  decide: (membership: number) => Promise<Outcome>,
): Promise<Printed> {
  if (membership !== undefined) return toDecided(membership, decision, await decide(membership));
  const decided: { membership: number; outcome: Outcome }[] = [];
  const problems: string[] = [];
  for (const { id } of await list(tool)) {
    try {
      decided.push({ membership: id, outcome: await decide(id) });
    } catch (error) {
      const { code, message } = toAppError(error);
      if (code !== 'conflict') throw error;
      problems.push(message);
    }
  }
  const lines = decided.map((one) => `Membership ${one.membership} ${outcomes[one.outcome]}.`);
  return {
    data: { decision, decided, refused: problems },
    text: () => (lines.length === 0 ? 'Nothing was decided.' : lines.join('\n')),
    problems,
    ...(problems.length > 0 && { status: 1 }),
  };
}

function toDecided(membership: number, decision: Decision, outcome: Outcome): Printed {
  return {
    data: { membership, decision, outcome },
    text: () => `Membership ${membership} ${outcomes[outcome]}.`,
  };
}

async function adopt(ctx: Storage, { id, account: withAccount, address }: Adoption & { id: number }): Promise<Outcome> {
  if (address === undefined) return await adoptMember(ctx, id, decidedBy(), { withAccount });
  await adoptDoubted(ctx, id, address, decidedBy());
  return 'adopted';
}

function toShown({ wanted, ...member }: Listed) {
  return { ...masked(member), wanted: wanted };
}

/** Strangers choose names, and a tool may use addresses as ids. */
type Shown = Pick<ListedMembership, 'displayName' | 'memberId' | 'doubtedId' | 'failure'>;

function masked<T extends Shown>(member: T) {
  const { displayName, memberId, doubtedId, failure } = member;
  const mask = (text: string | null) => (text === null ? null : maskText(text));
  return {
    ...member,
    displayName: mask(displayName),
    memberId: mask(memberId),
    doubtedId: mask(doubtedId),
    failure: mask(failure),
  };
}

const upToState: Columns<Listed> = [
  ['id', ({ id }) => id],
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['trainer', ({ trainerId }) => trainerId],
  ['name', ({ displayName }) => displayName],
  ['state', ({ state }) => state],
];

const sinceWhen: Columns<Listed> = [
  ['since', ({ updatedAt }) => updatedAt],
  ['next try', ({ nextAttemptAt, removeAfter }) => nextAttemptAt ?? removeAfter],
  ['why', (member) => member.failure ?? member.invitation?.failure ?? sayDoubt(member) ?? member.cause],
];

const columns: Columns<Listed> = [...upToState, ...sinceWhen];
const waitingColumns: Columns<Listed> = [...upToState, ['waits for', sayWaitedFor], ...sinceWhen];

const leavingColumns: Columns<Listed> = [
  ['leaves', ({ state, removeAfter }) => (state === 'held' ? 'when the plan is approved' : (removeAfter ?? 'now'))],
  ...upToState,
  ['install', ({ install }) => install],
  ['why', ({ failure, cause }) => [cause && describeCause(cause), failure].filter(Boolean).join(': ')],
];

function sayDoubt({ doubtedId }: Listed): string | null {
  return doubtedId === null ? null : `account ${doubtedId}: whose is it?`;
}

/** What a membership waits for, or the command that the operator has to run. */
function sayWaitedFor({ id, waitsFor }: Pick<Listed, 'id' | 'waitsFor'>): string {
  switch (waitsFor) {
    case 'operator':
      return `gangway members invitation ${id}`;
    case 'renewal':
      return `gangway members renew ${id}`;
    case 'mail':
      return 'the mail';
    case 'new_invitation':
      return 'another invitation';
    default:
      return 'a work email';
  }
}

/** What decides whether a person can be reached by mail now. */
function toReach({ marketplace: { managedDomains }, mail }: Config) {
  return { managedDomains, hasMail: mail !== undefined, now: toInstant(systemClock.now()) };
}
