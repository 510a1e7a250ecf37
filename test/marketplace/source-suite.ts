import { beforeEach, describe, expect, it } from 'vitest';
import { bindSource } from '../../src/installs/install-registry.ts';
import { tokens } from '../../src/marketplace/contract/account.ts';
import type { Contract, Deviation, Source } from '../../src/marketplace/source.ts';
import type { Front } from '../support/front.ts';
import { failureOf, oddIds, signal } from './failure-of.ts';

/**
 * What every source must do: the contract of the port `src/marketplace/source.ts`, run against the sandbox and the second
 * marketplace. A capability that a source lacks must be absent, because callers decide by that.
 */
/** @param deviations what it warns of in the description that the marketplace serves */
export function describeSource(
  name: string,
  open: OpenSite,
  capabilities: readonly Capability[],
  deviations: readonly Deviation[] = [],
): void {
  const can = (capability: Capability) => capabilities.includes(capability);
  /** Capabilities that are not claimed are not tried. */
  const declareWhere = (capability: Capability, says: string, check: () => Promise<void>) => {
    if (can(capability)) it(says, check);
  };

  describe(name, () => {
    let site: SourceSite;
    let source: Source;
    beforeEach(async () => {
      site = await open();
      source = site.connect();
    });

    it('has exactly the claimed capabilities', () => {
      expect(allCapabilities.filter((one) => source[one] !== undefined)).toEqual(capabilities);
      const bound = bindSource(source, async () => undefined);
      expect(Object.keys(bound).sort()).toEqual(Object.keys(source).sort());
    });

    it('reads its grant, which has every scope that is needed', async () => {
      const grant = await source.readGrant(signal);
      expect(grant).toMatchObject({ id: expect.any(String), status: 'ACTIVE', organizationId: expect.any(String) });
      const granted = grant.token?.scopes ?? grant.scopes ?? [];
      expect(source.neededScopes.filter(({ scope }) => !isGranted(granted, scope))).toEqual([]);
    });

    it('reads and changes nothing with the token of another customer', async () => {
      const bound = bindSource(source, () => Promise.reject(new Error('of another')));
      await expect(bound.listLinks(signal)).rejects.toThrow('of another');
      await expect(bound.listContracts({ status: 'active' }, signal)).rejects.toThrow('of another');
      await expect(bound.deleteEndpoint('one', signal)).rejects.toThrow('of another');
    });

    it('lists its links, and reads each by its id', async () => {
      const [link, ...others] = await source.listLinks(signal);
      expect([link, others]).toMatchObject([{ id: expect.any(String), externalProjectId: 'signs' }, []]);
      expect(await source.readLink(link?.id ?? '', signal)).toEqual(link);
      expect(await failureOf(source.readLink('lnk_unknown', signal))).toMatchObject({ code: 'not_found' });
    });

    it('lists contracts by their status, on the link of their job', async () => {
      const [stays, goes] = [site.hire('ada'), site.hire('ben')];
      site.end(goes);
      const [link] = await source.listLinks(signal);
      const projectLinkIds = [link?.id];
      const active = await source.listContracts({ status: 'active' }, signal);
      const ended = await source.listContracts({ status: 'ended' }, signal);
      expect(active).toMatchObject({ isComplete: true, contracts: [{ id: stays, status: 'active', projectLinkIds }] });
      expect(ended).toMatchObject({ isComplete: true, contracts: [{ id: goes, status: 'ended', projectLinkIds }] });
      for (const projectLinkId of projectLinkIds as string[]) {
        expect(await source.listContracts({ status: 'active', projectLinkId }, signal)).toEqual(active);
      }
    });

    it('keeps the requested part of a contract', async () => {
      site.hire('ada');
      const keep = (one: Contract): Contract => ({ ...one, title: 'kept' });
      expect((await source.listContracts({ status: 'active', keep }, signal)).contracts).toMatchObject([
        { title: 'kept' },
      ]);
    });

    it('lists the trainers of a contract, with an address where there is consent', async () => {
      const contractId = site.hire('ada');
      const [trainer, ...others] = await source.listParticipants(contractId, signal);
      expect([trainer, others]).toMatchObject([{ opentrainUserId: 'ada', workEmail: expect.stringMatching(/@/) }, []]);
      site.withdrawAddress('ada');
      const [masked] = await source.listParticipants(contractId, signal);
      expect(masked).toMatchObject({ ...trainer, workEmail: null });
    });

    it('reads the budget of a contract', async () => {
      const contractId = site.hire('ada');
      expect(await source.readBudget(contractId, signal)).toMatchObject({ contractId, state: 'OK' });
    });

    it('does not find an unknown contract', async () => {
      for (const id of ['con_unknown', '../webhooks?x=#']) {
        expect(await failureOf(source.listParticipants(id, signal))).toMatchObject({ code: 'not_found' });
        expect(await failureOf(source.readBudget(id, signal))).toMatchObject({ code: 'not_found' });
      }
    });

    it.each(oddIds)('asks for nothing by the id %j', async (id) => {
      const { front } = site;
      const asking = site.connect({ baseUrl: front.baseUrl });
      const asked = [
        asking.readLink(id, signal),
        asking.listParticipants(id, signal),
        asking.readBudget(id, signal),
        asking.readEndpoint(id, signal),
        asking.deleteEndpoint(id, signal),
      ];
      for (const failure of await Promise.all(asked.map(failureOf)))
        expect(failure).toMatchObject({ code: 'not_found' });
      expect(front.asked()).toEqual([]);
    });

    it('makes, finds and deletes a webhook endpoint for all its events', async () => {
      const eventTypes = await source.listEventTypes(signal);
      const wanted = { url: 'https://bridge.example.com/webhooks/acme', eventTypes };
      const { endpoint, secret } = await source.createEndpoint(wanted, signal);
      expect(secret).toMatch(/^whsec_/);
      expect(endpoint).toMatchObject({ ...wanted, status: 'ACTIVE' });
      expect(await source.listEndpoints(signal)).toEqual([endpoint]);
      expect(await source.readEndpoint(endpoint.id, signal)).toEqual(endpoint);
      await source.deleteEndpoint(endpoint.id, signal);
      expect(await source.listEndpoints(signal)).toEqual([]);
      expect(await failureOf(source.readEndpoint(endpoint.id, signal))).toMatchObject({ code: 'not_found' });
      expect(await failureOf(source.deleteEndpoint(endpoint.id, signal))).toMatchObject({ code: 'not_found' });
    });

    declareWhere('updateEndpoint', 'changes a webhook endpoint, and has deliveries sent again', async () => {
      const eventTypes = await source.listEventTypes(signal);
      const wanted = { url: 'https://bridge.example.com/webhooks/acme', eventTypes: eventTypes.slice(0, 1) };
      const { endpoint } = await source.createEndpoint(wanted, signal);
      const changes = { eventTypes, status: 'DISABLED' } as const;
      expect(await source.updateEndpoint?.(endpoint.id, changes, signal)).toMatchObject(changes);
      await source.updateEndpoint?.(endpoint.id, { status: 'ACTIVE' }, signal);
      expect(await source.redeliver?.(endpoint.id, undefined, signal)).toBe(can('redeliver') ? 0 : undefined);
    });

    declareWhere('createLink', 'makes a link once, and deletes it for good', async () => {
      const link = await source.createLink?.({ externalProjectId: 'lamps', jobId: site.jobId }, signal);
      const again = source.createLink?.({ externalProjectId: 'lamps', jobId: site.jobId }, signal);
      expect(await failureOf(again)).toMatchObject({ code: 'conflict' });
      await source.deleteLink?.(link?.id ?? '', signal);
      expect(await source.listLinks(signal)).toMatchObject([{ externalProjectId: 'signs' }]);
    });

    declareWhere('reportUsage', 'takes a total as often as it is reported', async () => {
      const contractId = site.hire('ada');
      const entries = [{ workDate: site.today, totalSeconds: 60, workerOpentrainUserId: 'ada' }];
      const first = await source.reportUsage?.(contractId, entries, signal);
      expect(first).toMatchObject({ contractId, accepted: 1, budget: { consumed: { seconds: 60 } } });
      expect(await source.reportUsage?.(contractId, entries, signal)).toEqual(first);
    });

    declareWhere('readPublications', 'reads what is published for the trainers of a job, and no draft', async () => {
      const read = async () => await source.readPublications?.([site.jobId, 'job_unknown'], signal);
      expect(await read()).toEqual(new Map());
      const edit = site.publish?.('How to label') ?? (() => undefined);
      const [jobId, publication] = [...((await read()) ?? [])][0] ?? [];
      expect([jobId, publication]).toMatchObject([
        site.jobId,
        { publicationNumber: 1, pages: [{ title: 'How to label', depth: 1 }] },
      ]);
      edit('A draft');
      expect([...((await read()) ?? [])]).toEqual([[jobId, publication]]);
    });

    declareWhere('readUpdates', 'reads what has happened page by page, as its deliveries have it', async () => {
      const [first, second] = [site.hire('trainer-1'), site.hire('trainer-2')];
      const begun = await source.readUpdates?.(null, signal);
      const created = (contractId: string) => ({ type: 'contract.created', resourceId: contractId });
      const events = begun?.updates.map(({ body }) => JSON.parse(body) as unknown);
      expect(events).toMatchObject([created(first), created(second)]);
      expect(begun).toMatchObject({ cursor: expect.any(String), hasMore: false });
      const { cursor = null } = begun ?? {};
      expect(await source.readUpdates?.(cursor, signal)).toEqual({ updates: [], cursor, hasMore: false });
      site.hire('trainer-3');
      expect(await source.readUpdates?.(cursor, signal)).toMatchObject({ updates: [{ body: expect.any(String) }] });
      expect(await failureOf(source.readUpdates?.('no number', signal))).toMatchObject({
        code: 'invalid',
        status: 400,
      });
    });

    declareWhere('listPendingPayments', 'lists what waits for money, and where a person sees to it', async () => {
      const contract = site.hire('trainer-1');
      expect(await source.listPendingPayments?.(signal)).toEqual([]);
      site.bill?.(contract);
      expect(await source.listPendingPayments?.(signal)).toEqual([
        {
          id: expect.any(String),
          invoiceNumber: expect.any(Number),
          amountUsd: 200,
          createdAt: expect.any(String),
          jobId: site.jobId,
          url: expect.stringMatching(/^https?:/),
        },
      ]);
    });
    declareWhere('call', 'makes a token of its own scopes, lists it without its secret, and revokes it', async () => {
      const own = (await source.readGrant(signal)).token;
      const [scope = ''] = own?.scopes ?? [];
      const name = 'Gangway acme 1';
      const expiresAt = `${Number(site.today.slice(0, 4)) + 1}-01-01T00:00:00.000Z`;
      const made = await source.call?.(tokens.create, { name, scopes: [scope], expiresAt }, signal);
      const { token: secret = '', metadata: token } = made ?? {};
      const listed = { id: expect.any(String), name, scopes: [scope], status: 'active', lastUsedAt: null, expiresAt };
      expect(token).toMatchObject(listed);
      expect(await source.listTokens?.(signal)).toMatchObject([{ id: own?.id, status: 'active' }, listed]);
      expect(JSON.stringify(await source.listTokens?.(signal))).not.toContain(secret);
      const other = site.connect({ token: secret });
      expect((await other.readGrant(signal)).token).toEqual({ id: token?.id, name, scopes: [scope] });
      const more = other.call?.(tokens.create, { name, scopes: own?.scopes ?? [] }, signal);
      expect(await failureOf(more)).toMatchObject({ code: 'forbidden', status: 403 });
      const revoke = (tokenId = '') => source.call?.(tokens.revoke, { tokenId }, signal);
      for (const _ of ['once', 'again']) await revoke(token?.id);
      expect(await failureOf(other.readGrant(signal))).toMatchObject({ code: 'unauthenticated' });
      expect(await source.listTokens?.(signal)).toMatchObject([{ status: 'active' }, { name, status: 'revoked' }]);
      expect(await failureOf(revoke('tok_unknown'))).toMatchObject({ code: 'not_found' });
    });

    it('finds what the marketplace describes otherwise, and measures its clock', async () => {
      expect(source.clockDriftMs()).toBeUndefined();
      expect(await source.findDeviations(signal)).toEqual(deviations);
      expect(source.clockDriftMs()).toEqual(expect.any(Number));
    });
  });

  describePages(`${name}, where contracts fill more than a page`, open);
}

/** More contracts than fit on a page of the marketplace. */
const many = 201;

function describePages(name: string, open: OpenSite): void {
  it(`${name}, follows the cursors for as long as that is wanted`, async () => {
    const site = await open({ hasCursors: true });
    for (let count = 0; count < many; count += 1) site.hire(`t${count}`);
    const source = site.connect();
    const whole = await source.listContracts({ status: 'active' }, signal);
    expect([new Set(whole.contracts.map(({ id }) => id)).size, whole.isComplete]).toEqual([many, true]);
    const begun = await source.listContracts({ status: 'active', wantsMore: () => false }, signal);
    expect(begun.contracts.length).toBeLessThan(many);
    expect(begun.isComplete).toBe(false);
  });
}

/** The members of the port that a source may lack. */
export const allCapabilities = [
  'createLink',
  'deleteLink',
  'reportUsage',
  'updateEndpoint',
  'redeliver',
  'readPublications',
  'readUpdates',
  'listPendingPayments',
  'listTokens',
  'call',
  'listWhole',
] as const;
export type Capability = (typeof allCapabilities)[number];

export type OpenSite = (options?: { hasCursors?: boolean }) => Promise<SourceSite>;

/** One customer at the marketplace, with a job that is linked to the project `signs`. */
export interface SourceSite {
  /** The customer's source, at the marketplace or at a proxy in front of it. */
  connect(at?: { baseUrl?: string; timeoutMs?: number; token?: string }): Source;
  /** The proxy in front of the marketplace. */
  front: Front;
  /** Today, at the marketplace. */
  today: string;
  /** The job that is linked. */
  jobId: string;
  /** @returns the id of the contract */
  hire(trainerId: string): string;
  end(contractId: string): void;
  /** Makes a payment for the contract pending. */
  bill?(contractId: string): void;
  /** Stops sharing the trainer's address. */
  withdrawAddress(trainerId: string): void;
  revokeToken(): void;
  /** Publishes a manual of the job with one page. @returns a function that changes its draft */
  publish?(title: string): (title: string) => void;
}

function isGranted(granted: readonly string[], scope: string): boolean {
  return granted.includes(scope) || granted.includes(scope.replace(/:read$/, ':write'));
}
