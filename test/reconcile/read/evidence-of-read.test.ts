import { describe, expect, it } from 'vitest';
import { emptyContract, emptyEvidence, emptyLink, toPair, versionOfRead } from '../../../src/domain/evidence.ts';
import type { Contract } from '../../../src/marketplace/source.ts';
import { evidenceOfRead, type MarketplaceRead } from '../../../src/reconcile/read/evidence-of-install.ts';

const install = 'acme';
const startDate = '2026-03-01T00:00:00.000Z';
const beganAt = '2026-03-15T12:00:00.000Z';
const version = versionOfRead(beganAt);
const attributes = { externalProjectId: 'signs', externalProjectName: 'Signs', provisioningMode: 'PARTNER_WEBHOOK' };
const amara = { opentrainUserId: 'u1', displayName: 'Amara O.', workEmail: 'a@opentrain.work' };
const seen = { install, contractId: 'c1', trainerId: 'u1', seenAt: beganAt, absences: null };
const unnamed = {
  install,
  trainerId: 'u1',
  displayName: null,
  displayNameVersion: null,
  workEmail: null,
  workEmailVersion: null,
  addressMissing: null,
  addressMissingVersion: null,
};

function listed(status: string, changes: Partial<Contract> = {}): Partial<MarketplaceRead> {
  return { contracts: [{ id: 'c1', status, title: null, projectLinkIds: [], ...changes }] };
}

const contractRow = (registers: object = {}) => ({ ...emptyContract(install, 'c1'), ...registers });

describe('a read adds', () => {
  it.each<[string, Partial<MarketplaceRead>, object]>([
    ['nothing, where nothing stands in it', {}, {}],
    [
      'a link with its attributes, and never its removal',
      { links: [{ id: 'l1', ...attributes }] },
      {
        links: [
          {
            ...emptyLink(install, 'l1'),
            ...attributes,
            provisioningModeVersion: version,
            firstSeenAt: beganAt,
            seenAt: beganAt,
          },
        ],
      },
    ],
    [
      'when a contract was listed active',
      listed('active', { title: 'Signs' }),
      { contracts: [contractRow({ activeReadAt: beganAt, title: 'Signs', titleVersion: version })] },
    ],
    [
      'when work on it begins and ends, as far as that is said',
      listed('paused', { startDate, endDate: null }),
      { contracts: [contractRow({ startDate, startDateVersion: version })] },
    ],
    ['when it was listed ended', listed('ended'), { contracts: [contractRow({ endedReadAt: beganAt })] }],
    ['neither for a status it does not know', listed('paused'), { contracts: [contractRow()] }],
    [
      'the links that a contract names itself',
      listed('paused', { projectLinkIds: ['l1', 'l2'] }),
      {
        contracts: [contractRow()],
        pairs: [toPair(install, 'c1', 'l1', beganAt), toPair(install, 'c1', 'l2', beganAt)],
      },
    ],
    [
      'who is on a contract',
      { participants: new Map([['c1', [amara]]]) },
      {
        participations: [seen],
        people: [
          {
            ...unnamed,
            displayName: 'Amara O.',
            displayNameVersion: version,
            workEmail: 'a@opentrain.work',
            workEmailVersion: version,
          },
        ],
      },
    ],
    [
      'no name and no address where there is none',
      { participants: new Map([['c1', [{ ...amara, displayName: null, workEmail: null }]]]) },
      { participations: [seen], people: [unnamed] },
    ],
    ['nothing of an empty list of people', { participants: new Map([['c1', []]]) }, {}],
  ])('%s', (_, read, added) => {
    const nothing = { install, beganAt, links: [], contracts: [], participants: new Map() };
    expect(evidenceOfRead({ ...nothing, ...read })).toEqual({ ...emptyEvidence(), ...added });
  });
});
