import { Command, InvalidArgumentError } from 'commander';
import type { MembershipState } from '../domain/membership.ts';
import { membershipStates } from '../domain/membership.ts';
import type { ListedMembership } from '../engine/membership-store.ts';
import { print, withStorage } from './command-context.ts';
import { toCount } from './count-option.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';

interface MembersOptions {
  tool?: string;
  state?: MembershipState;
  waiting?: true;
  limit: number;
  json?: true;
}

/** `gangway members`: who belongs where, and how far that has come. */
export function createMembersCommand(terminal: Terminal): Command {
  return new Command('members')
    .description('list the memberships: who belongs where, and how far that has come')
    .option('--tool <name>', 'only those of one tool')
    .option('--state <state>', `only those in one state: ${membershipStates.join(', ')}`, toState)
    .option('--waiting', 'only those that wait for a work email')
    .option('--limit <count>', 'how many at most', toCount, 500)
    .option('--json', 'print one JSON object instead of a table')
    .action((options: MembersOptions, command: Command) =>
      withStorage(command, async ({ memberships }) => {
        const { tool, limit, json } = options;
        const state = options.waiting ? 'waiting_email' : options.state;
        const members = await memberships.list({ tool, state, limit });
        print(terminal, json, { members: members.map(toShown) }, () => toTable(members));
      }),
    );
}

function toState(value: string): MembershipState {
  const state = membershipStates.find((known) => known === value);
  if (state === undefined) throw new InvalidArgumentError(`one of: ${membershipStates.join(', ')}`);
  return state;
}

function toShown({ wanted, id: _, ...member }: ListedMembership) {
  return { ...member, wanted: wanted === 1 };
}

function toTable(members: ListedMembership[]): string {
  if (members.length === 0) return 'There are no memberships.';
  return formatTable(
    ['tool', 'group', 'trainer', 'name', 'state', 'since', 'next try', 'why'],
    members.map((member) => [
      member.tool,
      member.groupId,
      member.trainerId,
      member.displayName ?? '',
      member.state,
      member.updatedAt,
      member.nextAttemptAt ?? '',
      member.failure ?? '',
    ]),
  );
}
