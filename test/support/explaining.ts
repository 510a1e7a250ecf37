import type { Row } from '../../src/db/schema.ts';
import { emptyContract, emptyLink, type LinkEvidence, toPair } from '../../src/domain/evidence.ts';
import type { Bearing } from '../../src/memberships/explain-store.ts';
import { createLinkRouter, type RoutedInstalls } from '../../src/memberships/wall.ts';
import { type ExplainRules, explain } from '../../src/operations/explain-reasons.ts';
import { createMemoryTool } from './memory-tool.ts';

export const at = '2026-03-15T12:00:00.000Z';
export const later = '2026-03-15T12:15:00.000Z';
export const absences = '2026-03-15T12:01:00.000Z 2026-03-15T12:20:00.000Z';

export const ids = { install: 'acme', contractId: 'cmc1' };
export const link: LinkEvidence = {
  ...emptyLink('acme', 'cml1'),
  externalProjectId: 'street-signs',
  provisioningMode: 'PARTNER_WEBHOOK',
};
export const membership: Row<'membership'> = {
  id: 7,
  tool: 'studio',
  groupId: 'street-signs',
  trainerId: 'cmu1',
  install: 'acme',
  wanted: true,
  generation: 1,
  state: 'active',
  memberId: '42',
  isOurs: true,
  attempts: 0,
  doubtedId: null,
  nextAttemptAt: null,
  leaseToken: null,
  leasedUntil: null,
  lookAgain: false,
  failure: null,
  lateUntil: null,
  missedAt: null,
  releasedBy: null,
  unmetSince: null,
  updatedAt: at,
  cause: null,
  removeAfter: null,
  clearedGeneration: null,
};

/** A trainer. Every step holds for them, and the tests take one step away. */
export function healthy(): Bearing {
  return {
    contracts: [{ ...emptyContract('acme', 'cmc1'), startedEventAt: at }],
    participations: [{ ...ids, trainerId: 'cmu1', seenAt: at, absences: null }],
    pairs: [toPair('acme', 'cmc1', 'cml1', at)],
    links: [link],
    grants: [],
    people: [
      {
        install: 'acme',
        trainerId: 'cmu1',
        displayName: 'Amara O.',
        hasAddress: true,
        addressMissing: null,
        workEmailDomain: 'opentrain.work',
        workEmailDigest: 'digest',
      },
    ],
    memberships: [membership],
    reasons: [{ ...ids, membershipId: 7, linkId: 'cml1', isNamed: true }],
    plans: new Map(),
    invitations: new Map(),
  };
}

export const acme = { tool: 'studio', projects: ['*'] };

export function rulesFor(installs: RoutedInstalls, managedDomains: string[] = []): ExplainRules {
  const { adapter } = createMemoryTool();
  const adapters = new Map([['studio', adapter]]);
  const routeLink = createLinkRouter(installs, adapters);
  return { installs, adapters, routeLink, managedDomains, troubles: new Map(), required: new Map() };
}

export const usual = rulesFor(new Map([['acme', acme]]));

export function explainOne(bearing: Bearing, rules = usual) {
  const [explanation, ...others] = explain(bearing, rules);
  if (others.length > 0) throw new Error('there is more than one explanation');
  const steps = explanation?.steps ?? [];
  return {
    failing: steps.filter(({ holds }) => !holds).map(({ step }) => step),
    says: (name: string) => steps.find(({ step }) => step === name)?.says,
    action: explanation?.action,
    steps,
  };
}
