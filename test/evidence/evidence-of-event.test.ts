import { describe, expect, it } from 'vitest';
import type { EventType, LifecycleEvent } from '../../src/domain/event.ts';
import {
  type ContractEvidence,
  emptyContract,
  emptyEvidence,
  emptyGrant,
  emptyLink,
  toPair,
  versionOfEvent,
} from '../../src/domain/evidence.ts';
import { evidenceOfEvent } from '../../src/evidence/read-delivery.ts';

const createdAt = '2026-03-15T11:59:58.000Z';
const receivedAt = '2026-03-15T12:00:00.000Z';
const install = 'acme';
const monthMs = 30 * 24 * 3_600_000;

const startDate = '2026-03-15T09:30:00.000Z';
const contract = { id: 'c1', title: 'Street signs', startDate };
const trainer = { id: 't1', displayName: 'Amara O.', workEmail: 'amara.o@opentrain.work' };
const link = {
  id: 'l1',
  externalProjectId: 'signs',
  externalProjectName: 'Signs',
  provisioningMode: 'PARTNER_WEBHOOK',
};

/** With nothing but what its type and resource say, unless more is given. */
function newEvent(type: EventType, more: Partial<LifecycleEvent> = {}): LifecycleEvent {
  const nothing = { id: null, createdAt: null, contract: null, trainer: null, link: null };
  return { ...nothing, type, resourceId: 'r1', ...more };
}

function contractRow(registers: Partial<ContractEvidence>): ContractEvidence {
  return { ...emptyContract(install, 'c1'), ...registers };
}

const title = {
  title: 'Street signs',
  titleVersion: versionOfEvent('8'),
  startDate,
  startDateVersion: versionOfEvent('8'),
};
const seenOn = (at: string | null) => ({ firstSeenAt: at, seenAt: at });
const linkRow = {
  ...emptyLink(install, 'l1'),
  ...link,
  ...seenOn(createdAt),
  provisioningModeVersion: versionOfEvent('8'),
};
const { id: _, ...linkWithoutId } = linkRow as typeof linkRow & { id: string };
const personRow = {
  install,
  trainerId: 't1',
  displayName: 'Amara O.',
  displayNameVersion: versionOfEvent('8'),
  workEmail: 'amara.o@opentrain.work',
  workEmailVersion: versionOfEvent('8'),
  addressMissing: null,
  addressMissingVersion: null,
};
const revoked = { ...emptyGrant(install, 'r1'), revokedReceivedAt: receivedAt };
const pairs = [toPair(install, 'c1', 'l1', createdAt)];
const participations = [{ install, contractId: 'c1', trainerId: 't1', seenAt: createdAt, absences: null }];

describe('a full event adds what it names', () => {
  const full = { id: '8', createdAt, contract, trainer, link };
  const everything = { pairs, participations, people: [personRow], links: [linkWithoutId] };
  const aboutLink = { id: '8', createdAt, link };
  const aboutBudget = { id: '8', createdAt, contract };

  it.each<[EventType, Partial<LifecycleEvent>, object]>([
    ['contract.started', full, { ...everything, contracts: [contractRow({ startedEventAt: createdAt, ...title })] }],
    ['contract.ended', full, { ...everything, contracts: [contractRow({ endedEventAt: createdAt, ...title })] }],
    ['project_link.created', aboutLink, { links: [linkWithoutId] }],
    [
      'project_link.removed',
      aboutLink,
      // Whatever undoes it may be on its way since it came in, not since it was said.
      { links: [{ ...linkWithoutId, ...seenOn(null), removedEventAt: receivedAt }] },
    ],
    ['install.revoked', { id: '8', createdAt }, { grants: [{ ...revoked, revokedEventAt: createdAt }] }],
    ['milestone.funded', aboutBudget, { contracts: [contractRow({ budgetEventAt: createdAt, ...title })] }],
    ['milestone.budget_low', aboutBudget, { contracts: [contractRow({ budgetEventAt: createdAt, ...title })] }],
    ['milestone.budget_depleted', aboutBudget, { contracts: [contractRow({ budgetEventAt: createdAt, ...title })] }],
  ])('%s', (type, parts, added) => {
    const { evidence, contractToRead } = evidenceOfEvent(install, newEvent(type, parts), receivedAt, monthMs);
    expect(evidence).toEqual({ ...emptyEvidence(), ...added });
    expect(contractToRead).toBeNull();
  });
});

describe('a minimal event adds what it can', () => {
  const bare = { contract: { id: 'c1', title: null, startDate: null } };
  const stranger = { id: null, displayName: 'Amara O.', workEmail: 'amara.o@opentrain.work' };
  const minimal = { ...bare, trainer: stranger };

  it.each<[EventType, Partial<LifecycleEvent>, object, string | null]>([
    ['contract.started', minimal, { contracts: [contractRow({ startedEventAt: receivedAt })] }, 'c1'],
    ['contract.ended', minimal, { contracts: [contractRow({ endedEventAt: receivedAt })] }, null],
    [
      'project_link.created',
      { link: { ...emptyAttributes(), id: 'l1' } },
      { links: [{ ...emptyLink(install, 'l1'), ...seenOn(receivedAt) }] },
      null,
    ],
    [
      'project_link.removed',
      { link: { ...emptyAttributes(), id: 'l1' } },
      { links: [{ ...emptyLink(install, 'l1'), removedEventAt: receivedAt }] },
      null,
    ],
    ['install.revoked', {}, { grants: [{ ...revoked, revokedEventAt: receivedAt }] }, null],
    ['milestone.funded', {}, {}, null],
    ['milestone.budget_low', bare, { contracts: [contractRow({ budgetEventAt: receivedAt })] }, null],
    ['milestone.budget_depleted', {}, {}, null],
  ])('%s', (type, parts, added, toRead) => {
    const { evidence, contractToRead } = evidenceOfEvent(install, newEvent(type, parts), receivedAt, monthMs);
    expect(evidence).toEqual({ ...emptyEvidence(), ...added });
    expect(contractToRead).toBe(toRead);
  });
});

function emptyAttributes() {
  return { externalProjectId: null, externalProjectName: null, provisioningMode: null };
}

describe('a start requests a read of what it lacks', () => {
  it.each<[string, Partial<LifecycleEvent>, string | null]>([
    ['nothing', { contract, trainer, link }, null],
    ['the link', { contract, trainer }, 'c1'],
    ['the project', { contract, trainer, link: { ...link, externalProjectId: null } }, 'c1'],
    ['the trainer', { contract, link }, 'c1'],
    ["the trainer's id", { contract, trainer: { ...trainer, id: null }, link }, 'c1'],
    ['the address', { contract, trainer: { ...trainer, workEmail: null }, link }, 'c1'],
    ['the contract, and so cannot ask', { trainer, link }, null],
  ])('%s', (_what, parts, toRead) => {
    const event = newEvent('contract.started', parts);
    expect(evidenceOfEvent(install, event, receivedAt, monthMs).contractToRead).toBe(toRead);
  });
});

describe('the time of an event', () => {
  it.each([
    ['what it says', createdAt, createdAt],
    ['when it was received, where it says nothing', null, receivedAt],
    ['when it was received, where it comes from the future', '2099-01-01T00:00:00.000Z', receivedAt],
  ])('is %s', (_, said, at) => {
    const event = newEvent('contract.started', { contract, createdAt: said });
    const [row] = evidenceOfEvent(install, event, receivedAt, monthMs).evidence.contracts;
    expect(row?.startedEventAt).toBe(at);
  });
});

describe('an event that is older than the retention of deliveries', () => {
  const evidenceAt = (type: EventType, said: string) =>
    evidenceOfEvent(
      install,
      newEvent(type, { id: '8', createdAt: said, contract, trainer, link }),
      receivedAt,
      monthMs,
    );
  const monthAgo = '2026-02-13T12:00:00.000Z';
  const older = '2026-02-13T11:59:59.999Z';

  it('counts in full up to that age', () => {
    const { evidence, contractToRead } = evidenceAt('contract.started', monthAgo);
    expect(evidence.contracts).toEqual([contractRow({ startedEventAt: monthAgo, ...title })]);
    expect(contractToRead).toBeNull();
  });

  it('starts nothing beyond it, and has the contract read', () => {
    const { evidence, contractToRead } = evidenceAt('contract.started', older);
    expect(evidence.contracts).toEqual([contractRow(title)]);
    expect(contractToRead).toBe('c1');
  });

  it('adds no participation and no pair that a read may have ended', () => {
    const { evidence } = evidenceAt('contract.started', older);
    expect(evidence).toMatchObject({ participations: [], pairs: [], people: [personRow] });
  });

  it('ends a contract at any age', () => {
    const { evidence, contractToRead } = evidenceAt('contract.ended', older);
    expect(evidence.contracts).toEqual([contractRow({ endedEventAt: older, ...title })]);
    expect(contractToRead).toBeNull();
  });
});

describe('the whole install is read', () => {
  const types: EventType[] = ['contract.started', 'contract.ended', 'project_link.removed'];

  it('for a new link', () => {
    const event = newEvent('project_link.created', { link });
    expect(evidenceOfEvent(install, event, receivedAt, monthMs).isInstallToRead).toBe(true);
  });

  it.each(types)('but not for %s', (type) => {
    const event = newEvent(type, { contract, trainer, link });
    expect(evidenceOfEvent(install, event, receivedAt, monthMs).isInstallToRead).toBe(false);
  });
});
