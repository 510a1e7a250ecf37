import { isGranted } from '../contract/account.ts';
import { feedTypes, scopeOfEvent } from '../contract/events.ts';
import type { NeededScope, OptionalScopes } from '../source.ts';

/** Spec: part A section 5. */
export const neededScopes: readonly NeededScope[] = [
  {
    scope: 'payments:read',
    without: 'Gangway cannot see who is hired, or read budgets',
    isVital: true,
    operations: ['listContracts', 'listParticipants', 'readBudget', 'readUpdates', 'listPendingPayments'],
  },
  {
    scope: 'messages:read',
    without: 'Gangway cannot read the conversation that holds the work email, so nobody gets in',
    isVital: true,
    operations: [],
  },
  {
    scope: 'participant_work_email:read',
    without: 'no trainer has a work email, so nobody gets in',
    isVital: true,
    operations: [],
  },
  {
    scope: 'webhooks:manage',
    without: 'Gangway cannot see or repair the webhook, so it only reads on a schedule',
    isVital: false,
    operations: ['listEndpoints', 'readEndpoint', 'createEndpoint', 'deleteEndpoint'],
  },
  {
    scope: 'instructions:read',
    without: 'Gangway cannot read manuals, so none becomes the guidelines of a project',
    isVital: false,
    operations: ['readPublications'],
  },
];

export const allNeeded = neededScopes.map(({ scope }) => scope).join(', ');

export const optionalScopes: OptionalScopes = {
  uses: new Map([
    ['jobs:read', 'only to hire'],
    ['jobs:write', 'only to draft and publish jobs'],
    ['proposals:read', 'only to read and count proposals'],
    ['payments:write', 'only to hire, to pay, and to end contracts'],
    ['team:read', 'only to list your team'],
    ['team:write', 'only to invite to your team'],
  ]),
  remedy: (install) =>
    `Unless you hire with it, run gangway token rotate ${install} for a token with ${allNeeded}, or make one in the settings of your account at the marketplace and run gangway connect ${install} --employer`,
};

/** The event types that the token may subscribe to. Those about proposals and messages are only counted. */
export function eventTypesOf(granted: readonly string[]): string[] {
  return feedTypes.filter((type) => isGranted(granted, scopeOfEvent[type]));
}
