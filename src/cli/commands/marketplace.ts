import { budgetStates } from '../../domain/budget.ts';
import { contractStatuses } from '../../domain/evidence-status.ts';
import { dispatchStates } from '../../domain/notice.ts';
import { defineCommand, defineGroup, jsonInsteadOfTable } from '../define-command.ts';
import { argument, choice, flag, limit, option, usesInstall } from '../options.ts';

/** What the marketplace says, what is sent to it, and who is connected to it. */

export const notificationsCommand = defineGroup(
  'notifications',
  'the notices that were sent to your channels, and a test of the channels',
  [
    defineCommand({
      name: 'list',
      description: 'list notices by channel, the newest first',
      options: { state: choice('<state>', 'only those in one state:', dispatchStates), limit: limit(50) },
      json: jsonInsteadOfTable,
      opens: 'storage',
      run: async () => (await import('../notifications-command.ts')).runNotificationsList,
      remote: async () => (await import('../remote/marketplace.ts')).askNotificationsList,
    }),
    defineCommand({
      name: 'test',
      description: 'send a test notice now, and say whether it arrived; status 1 if one failed',
      options: { channel: option('<name>', 'only to this channel') },
      json: jsonInsteadOfTable,
      run: async () => (await import('../notifications-command.ts')).runNotificationsTest,
      remote: async () => (await import('../remote/marketplace.ts')).askNotificationsTest,
    }),
  ],
);

const ofInstall = option('<name>', 'only those of one install');

const onlyProject = option('<project>', 'only this one');
const guidelinesStatus = 'Ends with 3 if a person has to decide, 1 if something could not be read or written.';

export const guidelinesCommand = defineGroup(
  'guidelines',
  'what manuals publish for trainers, as the guidelines of projects in the tools',
  [
    defineCommand({
      name: 'list',
      description: 'list what was written into which project, and what the last look found',
      options: { install: ofInstall },
      json: jsonInsteadOfTable,
      opens: 'storage',
      run: async () => (await import('../guidelines-command.ts')).runGuidelinesList,
      remote: async () => (await import('../remote/marketplace.ts')).askGuidelinesList,
    }),
    defineCommand({
      name: 'diff',
      description: 'show what a sync would change, line by line; nothing is written',
      options: { install: ofInstall, project: onlyProject },
      notes: `${guidelinesStatus} Ends with 2 if a sync would write something.`,
      opens: 'services',
      uses: ['installs', 'tools'],
      isDry: true,
      run: async () => (await import('../guidelines-command.ts')).runGuidelinesDiff,
      remote: async () => (await import('../remote/marketplace.ts')).askGuidelinesDiff,
    }),
    defineCommand({
      name: 'sync',
      description: 'write what is published now, where the tool still shows what was written last',
      options: {
        install: ofInstall,
        project: onlyProject,
        overwrite: flag('replace texts too that were edited in the tool, or that Gangway did not write'),
      },
      json: jsonInsteadOfTable,
      notes: guidelinesStatus,
      opens: 'services',
      uses: ['installs', 'tools'],
      run: async () => (await import('../guidelines-command.ts')).runGuidelinesSync,
      remote: async () => (await import('../remote/marketplace.ts')).askGuidelinesSync,
    }),
    defineCommand({
      name: 'show',
      description: 'show what is published for a project, what was left out of it, and what the tool shows',
      arguments: { project: argument('<project>', "the tool's id of it") },
      options: { install: ofInstall },
      opens: 'services',
      uses: ['installs', 'tools'],
      isDry: true,
      run: async () => (await import('../guidelines-command.ts')).runGuidelinesShow,
      remote: async () => (await import('../remote/marketplace.ts')).askGuidelinesShow,
    }),
  ],
);

const contract = argument('<contract>', 'its id');
const installOfContract = option('<name>', 'of which install, where several have one of this id');

export const contractsCommand = defineGroup(
  'contracts',
  'what is known of the contracts, and your decision about one',
  [
    defineCommand({
      name: 'list',
      description: 'list contracts and their status, those with the least of their budget left first',
      options: {
        install: ofInstall,
        status: choice('<status>', 'only those that are', contractStatuses),
        budget: choice('<state>', 'only those whose budget is', budgetStates),
        suspects: flag('only those that are no longer listed, although nothing says they ended'),
        limit: limit(500),
      },
      json: jsonInsteadOfTable,
      opens: 'storage',
      run: async () => (await import('../contracts-command.ts')).runContractsList,
      remote: async () => (await import('../remote/marketplace.ts')).askContractsList,
    }),
    defineCommand({
      name: 'end',
      description: 'say that a contract has ended, for when the marketplace cannot be reached',
      arguments: { contract },
      options: {
        install: installOfContract,
        atMarketplace: flag(
          'end it at the marketplace instead, for an account of your own: for good, and never undone',
        ),
        confirm: option('<contract>', 'its id once more, instead of typing it: for --at-marketplace'),
        leave: flag('do not wait until a person at the marketplace has decided'),
      },
      misuse: ({ atMarketplace, confirm, leave }) =>
        !atMarketplace && (confirm !== undefined || leave) && '--confirm and --leave are for --at-marketplace',
      opens: 'storage',
      uses: ({ atMarketplace, install }) => (atMarketplace ? usesInstall({ install }) : []),
      run: async () => (await import('../contracts-command.ts')).runContractsEnd,
      remote: async () => (await import('../remote/marketplace.ts')).askContractsEnd,
    }),
    defineCommand({
      name: 'reopen',
      description: 'say that a contract goes on, although its end was delivered: the marketplace is read at once',
      arguments: { contract },
      options: { install: installOfContract },
      opens: 'storage',
      run: async () => (await import('../contracts-command.ts')).runContractsReopen,
      remote: async () => (await import('../remote/marketplace.ts')).askContractsReopen,
    }),
  ],
);

export const installsCommand = defineGroup(
  'installs',
  'the customers that are connected, by configuration or by command',
  [
    defineCommand({
      name: 'list',
      description: 'list them, and when each was last read from the marketplace',
      json: jsonInsteadOfTable,
      opens: 'storage',
      run: async () => (await import('../installs-command.ts')).runInstallsList,
      remote: async () => (await import('../remote/marketplace.ts')).askInstallsList,
    }),
    defineCommand({
      name: 'remove',
      description: 'forget one that was connected by command, with its token; its people stay in the tools',
      arguments: { install: argument('<install>', 'its name') },
      options: { acceptOrphans: flag('do it although the install leads to people who are in a tool: they are kept') },
      opens: 'services',
      run: async () => (await import('../installs-command.ts')).runInstallsRemove,
      remote: async () => (await import('../remote/marketplace.ts')).askInstallsRemove,
    }),
  ],
);

export const toolsCommand = defineGroup(
  'tools',
  'the tools that are configured, and the servers that their people are in',
  [
    defineCommand({
      name: 'list',
      description: 'list them, with the server that each was when Gangway first asked it',
      json: jsonInsteadOfTable,
      opens: 'storage',
      run: async () => (await import('../tools-command.ts')).runToolsList,
      remote: async () => (await import('../remote/marketplace.ts')).askToolsList,
    }),
    defineCommand({
      name: 'accept',
      description: 'take the server that a tool leads to now as the one that its people are in',
      arguments: { tool: argument('<tool>', 'its name in the configuration') },
      opens: 'services',
      uses: ({ tool }) => [`tools.${tool}`],
      run: async () => (await import('../tools-command.ts')).runToolsAccept,
      remote: async () => (await import('../remote/marketplace.ts')).askToolsAccept,
    }),
  ],
);

const install = argument('[install]', 'its name; not needed where there is one');

export const endpointCommand = defineGroup(
  'endpoint',
  'the webhook endpoints at the marketplace: where it delivers to, and whether it does',
  [
    defineCommand({
      name: 'status',
      description: 'ask the marketplace how the endpoints are doing',
      arguments: { install: argument('[install]', 'only the endpoint of this install') },
      opens: 'services',
      uses: usesInstall,
      isDry: true,
      run: async () => (await import('../endpoint-command.ts')).runEndpointStatus,
      remote: async () => (await import('../remote/marketplace.ts')).askEndpointStatus,
    }),
    defineCommand({
      name: 'rotate',
      description: 'replace an endpoint and its secret, without a gap: both are accepted in between',
      arguments: { install },
      opens: 'services',
      uses: usesInstall,
      run: async () => (await import('../endpoint-command.ts')).runEndpointRotate,
      remote: async () => (await import('../remote/marketplace.ts')).askEndpointRotate,
    }),
    defineCommand({
      name: 'redeliver',
      description: 'have the marketplace send again what failed',
      arguments: { install },
      options: { delivery: option('<id>', 'this delivery, whether it failed or not: its id at the marketplace') },
      opens: 'services',
      uses: usesInstall,
      isDry: true,
      run: async () => (await import('../endpoint-command.ts')).runEndpointRedeliver,
      remote: async () => (await import('../remote/marketplace.ts')).askEndpointRedeliver,
    }),
  ],
);
