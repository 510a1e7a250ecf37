import { planStates } from '../../domain/brake.ts';
import { membershipStates } from '../../domain/membership.ts';
import { defineCommand, defineGroup, jsonInsteadOfTable } from '../define-command.ts';
import {
  argument,
  choice,
  durationOption,
  flag,
  limit,
  option,
  repeatedOption,
  toInstantOption,
  toRowNumber,
  wait,
} from '../options.ts';

/** Who is in the tools, why, and who is to leave. */

export const statusCommand = defineCommand({
  name: 'status',
  description: 'show how Gangway is doing, what happened lately, and what needs an operator',
  options: {
    since: durationOption('how far back to count', '24h'),
    exitCode: flag('exit with 1 where something is down, with 2 where something waits for you, and else with 0'),
  },
  opens: 'storage',
  isDry: true,
  run: async () => (await import('../status-command.ts')).runStatus,
  remote: async () => (await import('../remote/people.ts')).askStatus,
});

const membership = argument('<membership>', 'its number in the list', toRowNumber);

const oneMembership = argument('[membership]', 'its number in the list', toRowNumber);
const allUndecided = {
  undecided: flag('all that "gangway members --undecided" lists'),
  tool: option('<name>', 'of them only those of one tool'),
};

/** @param isOfOne whether another option only makes sense for one membership */
function misuseOfDecision(
  { membership: named, undecided }: { membership: number | undefined; undecided: boolean },
  isOfOne: boolean,
): string | false {
  return (named === undefined) !== (undecided && !isOfOne) && 'name one membership, or use --undecided alone';
}

export const membersCommand = defineCommand({
  name: 'members',
  description: 'list the memberships: which trainer belongs to which group, and the state of each',
  options: {
    tool: option('<name>', 'only those of one tool'),
    state: choice('<state>', 'only those in one state:', membershipStates),
    waiting: flag('only those that wait: for a work email, or for their invitation to be handed over'),
    undecided: flag('only members whom Gangway did not add, while it is not decided whether they stay'),
    leaving: flag('only members whose access is due to end, the soonest first, and those that a plan holds last'),
    limit: limit(500),
  },
  json: jsonInsteadOfTable,
  misuse: ({ waiting, leaving }) => waiting && leaving && 'use --waiting or --leaving, not both',
  opens: 'storage',
  run: async () => (await import('../members-command.ts')).runMembers,
  remote: async () => (await import('../remote/people.ts')).askMembers,
  subcommands: [
    defineCommand({
      name: 'invitation',
      description: 'show the invitation of a trainer once, so that you can hand it over',
      arguments: { membership },
      opens: 'storage',
      run: async () => (await import('../invitation-commands.ts')).runMembersInvitation,
      remote: async () => (await import('../remote/people.ts')).askInvitation,
    }),
    defineCommand({
      name: 'renew',
      description: 'have the tool renew an invitation that was not accepted yet',
      arguments: { membership },
      opens: 'storage',
      run: async () => (await import('../invitation-commands.ts')).runMembersRenew,
      remote: async () => (await import('../remote/people.ts')).askRenew,
    }),
    defineCommand({
      name: 'adopt',
      description: 'count a member as added by Gangway: they are removed when no reason is left, which may be at once',
      arguments: { membership: oneMembership },
      options: {
        ...allUndecided,
        account: flag('count their account too as made by Gangway, so that it may be changed or ended'),
        address: option(
          '<address>',
          'the address that their account shows now, if no source has reported it: the account is theirs',
        ),
      },
      misuse: (given) => misuseOfDecision(given, given.address !== undefined),
      opens: 'storage',
      run: async () => (await import('../members-command.ts')).runMembersAdopt,
      remote: async () => (await import('../remote/people.ts')).askAdopt,
    }),
    defineCommand({
      name: 'release',
      description: 'count a member as not added by Gangway: they stay, whatever ends',
      arguments: { membership: oneMembership },
      options: {
        ...allUndecided,
        doubted: flag('let go of the account whose owner is not known, and not of the member'),
      },
      misuse: (given) => misuseOfDecision(given, given.doubted),
      opens: 'storage',
      run: async () => (await import('../members-command.ts')).runMembersRelease,
      remote: async () => (await import('../remote/people.ts')).askRelease,
    }),
  ],
});

export const explainCommand = defineCommand({
  name: 'explain',
  description: 'say why a trainer is in a tool or is not, from contract to login',
  arguments: { subject: argument('<person|contract>', "a trainer's id or work address, or a contract's id") },
  opens: 'storage',
  run: async () => (await import('../explain-command.ts')).runExplain,
  remote: async () => (await import('../remote/people.ts')).askExplain,
});

export const driftCommand = defineCommand({
  name: 'drift',
  description: 'name the members who are in a tool without a reason, and those who should be in and are not',
  options: {
    tool: option('<name>', 'only those of one tool'),
    group: option('<id>', 'only those of one group'),
    limit: limit(500),
  },
  json: jsonInsteadOfTable,
  notes: `By the latest complete listing of each group. Addresses are masked. No member is removed because
of what is listed here.`,
  opens: 'storage',
  run: async () => (await import('../drift-command.ts')).runDrift,
  remote: async () => (await import('../remote/people.ts')).askDrift,
});

const plan = argument('<plan>', 'its number in the list', toRowNumber);
const only = repeatedOption('<membership>', 'only this membership of the plan; may be repeated', toRowNumber);

export const plansCommand = defineGroup('plans', 'removals that the brake holds, for an operator to decide about', [
  defineCommand({
    name: 'list',
    description: 'list the plans that wait for a decision',
    options: {
      install: option('<name>', 'only those of one install'),
      state: choice('<state>', 'those in another state:', planStates),
      all: flag('those that were decided too'),
    },
    json: jsonInsteadOfTable,
    opens: 'storage',
    run: async () => (await import('../plans-command.ts')).runPlansList,
    remote: async () => (await import('../remote/people.ts')).askPlansList,
  }),
  defineCommand({
    name: 'show',
    description: 'show who a plan would remove, and why',
    arguments: { plan },
    json: jsonInsteadOfTable,
    opens: 'storage',
    run: async () => (await import('../plans-command.ts')).runPlansShow,
    remote: async () => (await import('../remote/people.ts')).askPlansShow,
  }),
  defineCommand({
    name: 'approve',
    description: 'remove the people of a plan whose evidence has not changed since it was made',
    arguments: { plan },
    options: {
      only,
      withoutReading: flag('do not ask the marketplace first, for when it cannot be asked'),
      wait: wait('how long to wait at most until they are removed'),
    },
    opens: 'services',
    uses: ['installs', 'tools'],
    run: async () => (await import('../plans-command.ts')).runPlansApprove,
    remote: async () => (await import('../remote/people.ts')).askPlansApprove,
  }),
  defineCommand({
    name: 'reject',
    description: 'keep the people of a plan until there is new evidence about them',
    arguments: { plan },
    options: { only },
    opens: 'storage',
    run: async () => (await import('../plans-command.ts')).runPlansReject,
    remote: async () => (await import('../remote/people.ts')).askPlansReject,
  }),
]);

export const retireCommand = defineCommand({
  name: 'retire',
  description: 'remove those whose install, tool or group is no longer configured',
  options: {
    install: option('<name>', 'those of one install'),
    tool: option('<name>', 'those in one tool'),
    all: flag('all of them'),
    yes: flag('do it; without, they are only listed'),
  },
  misuse: ({ install, tool, all }) =>
    install === undefined && tool === undefined && !all && 'name them with --install or --tool, or use --all',
  opens: 'storage',
  run: async () => (await import('../retire-command.ts')).runRetire,
  remote: async () => (await import('../remote/people.ts')).askRetire,
});

export const forgetCommand = defineCommand({
  name: 'forget',
  description:
    'clear everything personal of one person, at every install that does not need them any more; only ids stay',
  arguments: { person: argument('<person>', 'a trainer id, or a work address') },
  options: {
    install: option('<name>', 'only what this install knows of them'),
    dryRun: flag('say what would be cleared, and change nothing'),
    yes: flag('do it: it cannot be undone'),
  },
  misuse: ({ dryRun, yes }) => !(dryRun || yes) && 'this cannot be undone: look with --dry-run, do it with --yes',
  opens: 'storage',
  run: async () => (await import('../forget-command.ts')).runForget,
  remote: async () => (await import('../remote/people.ts')).askForget,
});

export const accessCommand = defineCommand({
  name: 'access',
  description: 'list who could get in where, from when to when, by which contracts, and how long lock-out took',
  options: {
    from: option('<instant>', 'the begin of the period, such as 2026-03-15T12:00:00Z', toInstantOption),
    to: option('<instant>', 'its end; by default now', toInstantOption),
    install: option('<name>', 'only access by contracts of this install'),
    csv: flag('as CSV instead of a table'),
  },
  notes: 'It follows from the receipts of what was done in the tools. What they do not show is said.',
  misuse: ({ from, to, csv, json }) =>
    (from !== undefined && to !== undefined && from > to && '--from must be before --to') ||
    (csv && json && 'use --csv or --json'),
  opens: 'storage',
  run: async () => (await import('../access-command.ts')).runAccess,
  remote: async () => (await import('../access-command.ts')).askAccess,
});
