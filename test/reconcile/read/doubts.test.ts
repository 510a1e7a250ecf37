import { describe, expect, it } from 'vitest';
import type { Contract } from '../../../src/marketplace/source.ts';
import { doubtsOfListing } from '../../../src/reconcile/read/doubts.ts';
import type { InstallListing, KnownInstall } from '../../../src/reconcile/read/read-install.ts';
import { byContract } from '../../support/read-whole.ts';

describe('a listing', () => {
  it('leaves no doubt if the last contract is listed as ended', () => {
    expect(doubtsOfListing(listing([{ id: 'c1', status: 'ended' }]), known('c1')).empty_list).toBe(0);
  });

  it('is in doubt if no contract is active and a known one is in no list', () => {
    expect(doubtsOfListing(listing([]), known('c1')).empty_list).toBe(1);
    expect(doubtsOfListing(listing([{ id: 'c1', status: 'ended' }]), known('c1', 'c2')).empty_list).toBe(1);
  });
});

function listing(contracts: Pick<Contract, 'id' | 'status'>[]): InstallListing {
  return {
    install: 'acme',
    beganAt: '2026-03-02T10:00:00.000Z',
    grant: { id: 'g1', status: 'ACTIVE' },
    links: [],
    missingLinkIds: [],
    contracts: contracts.map((contract) => ({ title: null, projectLinkIds: [], ...contract })),
    isActiveWhole: false,
    unreadLinks: [],
    unlisted: new Set(),
    toAsk: new Set(),
  };
}

function known(...contractIds: string[]): KnownInstall {
  const contracts = contractIds.map((contractId) => ({
    contractId,
    linkIds: [],
    trainerIds: [],
    participantsReadAt: null,
  }));
  return { links: new Map(), contracts: byContract(contracts) };
}
