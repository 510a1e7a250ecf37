import { planStates } from '../../domain/brake.ts';
import { membershipStates } from '../../domain/membership.ts';
import { defineCommand, defineGroup, jsonInsteadOfTable } from '../define-command.ts';
import { argument, choice, duration, flag, limit, option, toRowNumber, wait } from '../options.ts';

/** Who is in the tools, why, and who is to leave. */

export const status = defineCommand({
  name: 'status',
  description: 'how it is doing, what happened lately, and what needs somebody',
  options: { since: duration('how far back to count', '24h') },
  opens: 'storage',
  run: async () => (await import('../status-command.ts')).showStatus,
});

const membership = argument('<membership>', 'its number in the list', toRowNumber);

export const members = defineCommand({
  name: 'members',
  description: 'list the memberships: who belongs where, and how far that has come',
  options: {
    tool: option('<name>', 'only those of one tool'),
    state: choice('<state>', 'only those in one state:', membershipStates),
    waiting: flag('only those that wait: for a work email, or for being told how they get in'),
    limit: limit(500),
  },
  json: jsonInsteadOfTable,
  opens: 'storage',
  run: async () => (await import('../members-command.ts')).listMembers,
  subcommands: [
    defineCommand({
      name: 'invitation',
      description: 'show, this once, what somebody gets in with, for you to tell them',
      arguments: { membership },
      opens: 'storage',
      run: async () => (await import('../invitation-commands.ts')).showInvitation,
    }),
    defineCommand({
      name: 'renew',
      description: 'have the tool invite somebody anew who has not come yet',
      arguments: { membership },
      opens: 'storage',
      run: async () => (await import('../invitation-commands.ts')).renewInvitation,
    }),
    defineCommand({
      name: 'adopt',
      description:
        'count a member as added by Gangway: they are removed once nothing speaks for them, which may be at once',
      arguments: { membership },
      options: {
        account: flag('their account too: it is ended or changed as one that Gangway made'),
        address: option(
          '<address>',
          'what their account shows by now: it is theirs, under an address that nobody told',
        ),
      },
      opens: 'storage',
      run: async () => (await import('../members-command.ts')).adoptMember,
    }),
    defineCommand({
      name: 'release',
      description:
        'count a member as not added by Gangway: they stay, whatever ends; an account of which it is not known whose it is, first',
      arguments: { membership },
      opens: 'storage',
      run: async () => (await import('../members-command.ts')).releaseMember,
    }),
  ],
});

export const explain = defineCommand({
  name: 'explain',
  description: 'say why somebody is in a tool or is not, from contract to login',
  arguments: { subject: argument('<person|contract>', "a trainer's id or work address, or a contract's id") },
  opens: 'storage',
  run: async () => (await import('../explain-command.ts')).explainAccess,
});

export const reconcile = defineCommand({
  name: 'reconcile',
  description: 'read every install from the marketplace, and bring the tools in line with it',
  options: {
    install: option('<name>', 'only this one'),
    dryRun: flag('say what would be done, and change nothing'),
    wait: wait('for how long at most to wait until it is done'),
  },
  json: jsonInsteadOfTable,
  notes: `Exit status: 0 clean or applied, 1 failed or unfinished, 2 changes pending (dry run),
3 held by the brake, 64 used wrongly. A dry run ends as the run would, but for 2 where
that would apply something. It lists groups and looks for nobody by name: what another
hand has done already, and whom a tool refuses from now on, only the run finds out.`,
  opens: 'services',
  callsTools: true,
  isDry: ({ dryRun }) => dryRun,
  run: async () => (await import('../reconcile-command.ts')).reconcile,
});

const plan = argument('<plan>', 'its number in the list', toRowNumber);

export const plans = defineGroup('plans', 'removals that the brake holds, for an operator to decide about', [
  defineCommand({
    name: 'list',
    description: 'list the plans that nobody has decided about yet',
    options: {
      install: option('<name>', 'only those of one install'),
      state: choice('<state>', 'those in another state:', planStates),
      all: flag('those that were decided too'),
    },
    json: jsonInsteadOfTable,
    opens: 'storage',
    run: async () => (await import('../plans-command.ts')).listPlans,
  }),
  defineCommand({
    name: 'show',
    description: 'show who a plan would remove, and why',
    arguments: { plan },
    json: jsonInsteadOfTable,
    opens: 'storage',
    run: async () => (await import('../plans-command.ts')).showPlan,
  }),
  defineCommand({
    name: 'approve',
    description: 'remove those of a plan for whom nothing has changed since it was made',
    arguments: { plan },
    options: {
      withoutReading: flag('go by what is known, without asking the marketplace first: where it cannot be asked'),
      wait: wait('for how long at most to wait until they are'),
    },
    opens: 'services',
    callsTools: true,
    run: async () => (await import('../plans-command.ts')).approvePlan,
  }),
  defineCommand({
    name: 'reject',
    description: 'keep the people of a plan until there is new evidence about them',
    arguments: { plan },
    opens: 'storage',
    run: async () => (await import('../plans-command.ts')).rejectPlan,
  }),
]);

export const retire = defineCommand({
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
  run: async () => (await import('../retire-command.ts')).retireOrphans,
});

export const forget = defineCommand({
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
  run: async () => (await import('../forget-command.ts')).forget,
});
