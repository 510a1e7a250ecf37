import type { NeededScope } from '../source.ts';

/** What a platform token must be allowed to do, and what does not work without it. */
export const neededScopes: readonly NeededScope[] = [
  {
    scope: 'project-links:read',
    without: 'nothing tells which projects belong to which contracts',
    isVital: true,
    operations: ['listLinks', 'readLink'],
  },
  {
    scope: 'contracts:read',
    without: 'what is lost on its way is never noticed, and budgets are not known',
    isVital: true,
    operations: ['listContracts', 'readBudget'],
  },
  {
    scope: 'participants:read',
    without: 'nothing tells who is on a contract, where an event did not',
    isVital: true,
    operations: ['listParticipants'],
  },
  {
    scope: 'participants:email',
    without: 'no trainer has a work address, and so none gets in',
    isVital: true,
    operations: [],
  },
  {
    scope: 'webhooks:manage',
    without: 'its webhook endpoint can be neither seen nor looked after',
    isVital: false,
    operations: ['listEndpoints', 'readEndpoint', 'createEndpoint', 'updateEndpoint', 'deleteEndpoint', 'redeliver'],
  },
  { scope: 'usage:write', without: 'work cannot be reported', isVital: false, operations: ['reportUsage'] },
];
