import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Contract, ContractPage, SourceReader } from '../../../src/marketplace/source.ts';
import { readMarketplace } from '../../../src/reconcile/read/contract-job.ts';

const { signal } = new AbortController();
const beganAt = '2026-03-15T12:00:00.000Z';

const link = (id: string) => ({ id, externalProjectId: id, externalProjectName: null, provisioningMode: null });
const contract = (id: string, status = 'active'): Contract => ({ id, status, title: null, projectLinkIds: ['l1'] });
const amara = { opentrainUserId: 'u1', displayName: 'Amara O.', workEmail: null };

/** A marketplace whose listings are given by `status` or `status link`. */
function openFake(pages: Record<string, Partial<ContractPage>>, unknown: string[] = []) {
  const asked: string[] = [];
  const api: SourceReader = {
    readGrant: () => Promise.reject(new Error('was asked')),
    readLink: () => Promise.reject(new Error('was asked')),
    async listLinks() {
      asked.push('links');
      return [link('l1'), link('l2'), link('l3')];
    },
    async listContracts({ status, projectLinkId }) {
      const page = projectLinkId === undefined ? status : `${status} ${projectLinkId}`;
      asked.push(page);
      return { contracts: [], isComplete: true, ...pages[page] };
    },
    async listParticipants(contractId) {
      asked.push(`on ${contractId}`);
      if (unknown.includes(contractId)) throw new AppError('not_found', '404', { status: 404 });
      return [amara];
    },
  };
  const read = (...ids: string[]) => readMarketplace(api, 'acme', ids, beganAt, signal);
  return { api, asked, read };
}

describe('reading the marketplace', () => {
  it('asks for ended contracts only when one is missing among the active', async () => {
    const { asked, read } = openFake({ active: { contracts: [contract('c1'), contract('c9')] } });
    expect(await read('c1')).toEqual({
      install: 'acme',
      beganAt,
      links: [link('l1'), link('l2'), link('l3')],
      contracts: [contract('c1')],
      participants: new Map([['c1', [amara]]]),
    });
    expect(asked).toEqual(['links', 'active', 'on c1']);
  });

  it('finds an ended one among the ended', async () => {
    const { asked, read } = openFake({ ended: { contracts: [contract('c1', 'ended')] } });
    expect((await read('c1')).contracts).toEqual([contract('c1', 'ended')]);
    expect(asked).toEqual(['links', 'active', 'ended', 'on c1']);
  });

  it('asks link by link where a page is full, until no contract is missing', async () => {
    const { asked, read } = openFake({
      active: { isComplete: false },
      'active l2': { contracts: [contract('c1')] },
    });
    expect((await read('c1')).contracts).toEqual([contract('c1')]);
    expect(asked).toEqual(['links', 'active', 'active l1', 'active l2', 'on c1']);
  });

  it('goes no further where a full page has all that is wanted', async () => {
    const { asked, read } = openFake({
      active: { isComplete: false, contracts: [contract('c1')] },
    });
    await read('c1');
    expect(asked).toEqual(['links', 'active', 'on c1']);
  });

  it('reports no contract that is in no list', async () => {
    const { asked, read } = openFake({ ended: { isComplete: false } });
    const { contracts, participants } = await read('c1');
    expect(contracts).toEqual([]);
    expect(participants).toEqual(new Map([['c1', [amara]]]));
    expect(asked).toEqual(['links', 'active', 'ended', 'ended l1', 'ended l2', 'ended l3', 'on c1']);
  });

  it('does not fail where one contract is unknown', async () => {
    const active = { contracts: [contract('c1'), contract('c2')] };
    const { read } = openFake({ active }, ['c1']);
    expect((await read('c1', 'c2')).participants).toEqual(new Map([['c2', [amara]]]));
  });
});
