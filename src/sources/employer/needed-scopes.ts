import { employerEventTypes } from '../../domain/event.ts';
import { isGranted } from '../scopes.ts';
import type { NeededScope, OptionalScopes } from '../source.ts';

/** What a personal token must be allowed to do, and what does not work without it (spec: part A section 5). */
export const neededScopes: readonly NeededScope[] = [
  {
    scope: 'payments:read',
    without: 'nothing tells who is hired, and budgets are not known',
    isVital: true,
    operations: ['listContracts', 'listParticipants', 'readBudget', 'readUpdates', 'listPendingPayments'],
  },
  {
    scope: 'messages:read',
    without: 'the conversation with the work address of a trainer cannot be read, and so none gets in',
    isVital: true,
    operations: [],
  },
  {
    scope: 'participant_work_email:read',
    without: 'no trainer has a work address, and so none gets in',
    isVital: true,
    operations: [],
  },
  {
    scope: 'webhooks:manage',
    without: 'its webhook can be neither seen nor looked after, so what happens is read on a schedule alone',
    isVital: false,
    operations: ['listEndpoints', 'readEndpoint', 'createEndpoint', 'deleteEndpoint'],
  },
  {
    scope: 'instructions:read',
    without: 'manuals cannot be read, and so none becomes the guidelines of a project',
    isVital: false,
    operations: ['readPublications'],
  },
];

/** The needed ones, for the text of a remedy. */
export const allNeeded = neededScopes.map(({ scope }) => scope).join(', ');

export const optionalScopes: OptionalScopes = {
  uses: new Map([
    ['payments:write', 'only for gangway contracts end-at-marketplace'],
    ['proposals:read', 'only to count what is delivered of proposals'],
  ]),
  remedy: (install) =>
    `gangway token rotate ${install} makes one with ${allNeeded}; or make it in the settings of your account at the marketplace, and run again with it: gangway connect ${install} --employer`,
};

/**
 * What a webhook of an account delivers, by the scope without which a subscription to it is refused (spec: part A
 * sections 4.9 and 6). What is delivered of proposals and messages is counted, and means nothing here.
 */
const typesOfScope = {
  'payments:read': employerEventTypes,
  'proposals:read': ['proposal.received', 'proposal.status_changed'],
  'messages:read': ['message.received'],
};

export function eventTypesOf(granted: readonly string[]): string[] {
  return Object.entries(typesOfScope).flatMap(([scope, types]) => (isGranted(granted, scope) ? types : []));
}
