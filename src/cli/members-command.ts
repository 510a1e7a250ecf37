import { Command, InvalidArgumentError } from 'commander';
import type { Storage } from '../app/storage.ts';
import type { Config } from '../config/config-schema.ts';
import type { MembershipState } from '../domain/membership.ts';
import { membershipStates } from '../domain/membership.ts';
import { systemClock, toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { createDoubtStore } from '../memberships/doubt-store.ts';
import type { ListedMembership } from '../memberships/membership-list-store.ts';
import { createOwnershipStore } from '../memberships/ownership-store.ts';
import { listWaiting, type WaitingMember } from '../operator/list-waiting.ts';
import { decidedBy, print, withStorage } from './command-context.ts';
import { toCount, toRowNumber } from './count-option.ts';
import { createRenewCommand, createShowInvitationCommand } from './invitation-commands.ts';
import { refuseUnknownTool } from './pick-install.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';

interface MembersOptions {
  tool?: string;
  state?: MembershipState;
  waiting?: true;
  limit: number;
  json?: true;
}

/** Those who wait say for what. */
type Listed = ListedMembership & Partial<WaitingMember>;

/** `gangway members`: who belongs where, and how far that has come. */
export function createMembersCommand(terminal: Terminal): Command {
  return new Command('members')
    .description('list the memberships: who belongs where, and how far that has come')
    .option('--tool <name>', 'only those of one tool')
    .option('--state <state>', `only those in one state: ${membershipStates.join(', ')}`, toState)
    .option('--waiting', 'only those that wait: for a work email, or for being told how they get in')
    .option('--limit <count>', 'how many at most', toCount, 500)
    .option('--json', 'print one JSON object instead of a table')
    .action((options: MembersOptions, command: Command) =>
      withStorage(command, async (storage, config) => {
        const { tool, state, waiting, limit, json } = options;
        const members: Listed[] = waiting
          ? await listWaiting(storage, { tool, limit, ...toReach(config) })
          : await storage.memberships.list({ tool, state, limit });
        if (members.length === 0) refuseUnknownTool(command, config, tool);
        const toText = () => toTable(members, waiting);
        print(terminal, json, { members: members.map(toShown) }, toText);
      }),
    )
    .addCommand(createShowInvitationCommand(terminal))
    .addCommand(createRenewCommand(terminal))
    .addCommand(createOwnershipCommand(terminal, 'adopt'))
    .addCommand(createOwnershipCommand(terminal, 'release'));
}

const decisions = {
  adopt: 'count a member as added by Gangway: they are removed once nothing speaks for them, which may be at once',
  release:
    'count a member as not added by Gangway: they stay, whatever ends; an account of which it is not known whose it is, first',
};

const outcomes = {
  adopted: 'has that account too, and leaves by it as well',
  let_go: 'has nothing to do with that account any more, which stays as it is',
  kept: 'counts as ours, and is removed when nothing speaks for them any more',
  removing: 'counts as ours, and is removed now: nothing speaks for them',
  released: 'counts as not ours and stays',
};

function createOwnershipCommand(terminal: Terminal, decision: keyof typeof decisions): Command {
  const command = new Command(decision)
    .description(decisions[decision])
    .argument('<membership>', 'its number in the list', toRowNumber)
    .option('--json', 'print one JSON object instead of text');
  if (decision === 'adopt') {
    command.option('--account', 'their account too: it is ended or changed as one that Gangway made');
    command.option(
      '--address <address>',
      'what their account shows by now: it is theirs, under an address that nobody told',
    );
  }
  return command.action((id: number, options: DecisionOptions, command: Command) =>
    withStorage(command, async (storage, config) => {
      // The list has the option too, and takes it wherever it stands.
      const { json } = command.optsWithGlobals<{ json?: true }>();
      const outcome =
        decision === 'adopt'
          ? await adopt(storage, id, options)
          : await release(storage, id, config.marketplace.managedDomains);
      print(terminal, json, { membership: id, decision, outcome }, () => `Membership ${id} ${outcomes[outcome]}.`);
    }),
  );
}

interface DecisionOptions {
  account?: boolean;
  address?: string;
}

async function adopt(
  { database, memberships, box }: Storage,
  id: number,
  { account: withAccount = false, address }: DecisionOptions,
): Promise<keyof typeof outcomes> {
  if (address === undefined) {
    return await createOwnershipStore(database, memberships).adopt(id, decidedBy(), {
      withAccount,
    });
  }
  await createDoubtStore(database, box).adopt(id, address, decidedBy());
  return 'adopted';
}

/** An account of which it is not known whose it is comes first. */
async function release(
  { database, memberships, box }: Storage,
  id: number,
  managedDomains: readonly string[],
): Promise<keyof typeof outcomes> {
  if (await createDoubtStore(database, box).release(id, decidedBy())) return 'let_go';
  return await createOwnershipStore(database, memberships).release(id, managedDomains, decidedBy());
}

function toState(value: string): MembershipState {
  const state = membershipStates.find((known) => known === value);
  if (state === undefined) throw new InvalidArgumentError(`one of: ${membershipStates.join(', ')}`);
  return state;
}

function toShown({ wanted, ...member }: Listed) {
  return { ...masked(member), wanted: wanted === 1 };
}

/** Strangers choose names, and a tool may know people by their addresses. */
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

function toTable(members: Listed[], waiting?: true): string {
  if (members.length === 0) return waiting ? 'Nobody waits.' : 'There are no memberships.';
  const column = waiting ? ['waits for'] : [];
  return formatTable(
    ['id', 'tool', 'group', 'trainer', 'name', 'state', ...column, 'since', 'next try', 'why'],
    members
      .map(masked)
      .map((member) => [
        member.id,
        member.tool,
        member.groupId,
        member.trainerId,
        member.displayName ?? '',
        member.state,
        ...(waiting ? [sayWaitedFor(member)] : []),
        member.updatedAt,
        member.nextAttemptAt ?? member.removeAfter ?? '',
        member.failure ?? member.invitation?.failure ?? sayDoubt(member) ?? member.cause ?? '',
      ]),
  );
}

function sayDoubt({ doubtedId }: Listed): string | null {
  return doubtedId === null ? null : `account ${doubtedId}: whose is it?`;
}

/** What they wait for; or what to do about it, where that is yours. */
function sayWaitedFor({ id, waitsFor }: Listed): string {
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

/** Whom a mail could reach, now. */
function toReach({ marketplace: { managedDomains }, mail }: Config) {
  return { managedDomains, hasMail: mail !== undefined, now: toInstant(systemClock.now()) };
}
