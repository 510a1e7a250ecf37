import type { NeededScope } from '../source.ts';

/** What a platform token must be allowed to do, and what does not work without it. */
export const neededScopes: readonly NeededScope[] = [
  {
    scope: 'project-links:read',
    without: 'Gangway cannot see which projects belong to which contracts',
    isVital: true,
    operations: ['listLinks', 'readLink'],
  },
  {
    scope: 'contracts:read',
    without: 'Gangway cannot notice missed webhooks, or read budgets',
    isVital: true,
    operations: ['listContracts', 'readBudget'],
  },
  {
    scope: 'participants:read',
    without: 'Gangway cannot see who is on a contract unless an event names them',
    isVital: true,
    operations: ['listParticipants'],
  },
  {
    scope: 'participants:email',
    without: 'no trainer has a work email, so nobody gets in',
    isVital: true,
    operations: [],
  },
  {
    scope: 'webhooks:manage',
    without: 'Gangway cannot see or repair the webhook endpoint',
    isVital: false,
    operations: ['listEndpoints', 'readEndpoint', 'createEndpoint', 'updateEndpoint', 'deleteEndpoint', 'redeliver'],
  },
  { scope: 'usage:write', without: 'work cannot be reported', isVital: false, operations: ['reportUsage'] },
];
