import { describe, expect, it } from 'vitest';
import { operations } from '../../../src/http/api/openapi-document.ts';
import { type ApiClient, createApiClient } from '../../support/api-client.ts';
import { type Dialect, sqlite } from '../../support/databases.ts';
import { openHeldPlan } from '../../support/held-plan.ts';
import { describeAnyDialect } from '../../support/tries.ts';

const group = 'street-signs';

/** Four trainers whose removals the brake holds, and a body that is no event. */
async function openWorld(dialect: Dialect) {
  const journey = await openHeldPlan(dialect);
  const { deliver, hired, quiet } = journey;
  await deliver('no event');
  await quiet();
  return {
    ...journey,
    contractId: hired[0]?.contractId ?? '',
    api: createApiClient(journey.consoleUrl, 'vera'),
  };
}

/** Every page of a list. */
async function listAll(api: ApiClient, id: string, query: Record<string, string | number>) {
  const items: Record<string, unknown>[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await api.ask(id, { query: { ...query, ...(cursor !== undefined && { cursor }) } });
    items.push(...(page['items'] as Record<string, unknown>[]));
    cursor = page['next'] as string | null;
  }
  return items;
}

describeAnyDialect('the API', (dialect) => {
  it('says the same of a trainer as the bridge knows', async () => {
    const { api, hired, contractId } = await openWorld(dialect);
    const [trainerId = ''] = hired.map(({ trainers }) => trainers[0]?.opentrainUserId);
    const found = (await api.ask('accessSearch', { query: { trainer: trainerId } }))['items'];
    expect(found).toMatchObject([
      { trainerId, install: 'acme', groupId: group, wanted: false, reasons: [{ contractId }] },
    ]);
    const explained = await api.ask('explainShow', { query: { subject: contractId, timeline: 'true' } });
    const linked = expect.arrayContaining([expect.objectContaining({ step: 'link' })]);
    expect(explained).toMatchObject({ explanations: [{ trainerId, contractId, steps: linked }] });
    const { steps } = explained['timeline'] as { steps: { kind: string }[] };
    expect(steps.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['delivery', 'evidence', 'wanted', 'receipt']),
    );
    const plan = await api.ask('plansShow', { params: { plan: 1 } });
    expect(plan).toMatchObject({ state: 'open', size: 4, install: 'acme' });
    expect((plan['items'] as object[]).length).toBe(4);
  });

  it('gives every list page by page, each row once and in one order', async () => {
    const { api } = await openWorld(dialect);
    const ids = ['membersList', 'accessSearch', 'plansList', 'deliveriesList', 'contractsList', 'notificationsList'];
    for (const id of ids) {
      const whole = await listAll(api, id, { limit: 500 });
      for (const limit of [1, 2, 3]) expect([id, await listAll(api, id, { limit })]).toEqual([id, whole]);
      const keys = whole.map(({ id: number, contractId }) => number ?? contractId);
      expect([id, new Set(keys).size]).toEqual([id, keys.length]);
    }
  });

  it('shows no address and no token, even if a name is one', async () => {
    const { api, storage, customer, hired } = await openWorld(dialect);
    const trainer = hired[0]?.trainers[0];
    const { kysely } = storage.database;
    await kysely.updateTable('person').set({ displayName: 'Write to <eve@evil.example>' }).execute();
    await kysely.updateTable('contract').set({ title: 'eve@evil.example' }).execute();
    await kysely.updateTable('delivery').set({ failure: 'no eve@evil.example' }).execute();
    for (const { id, method, role } of operations) {
      if (role !== 'viewer' || method !== 'get') continue;
      const { body } = await api.send(id, { params: { membership: 1, delivery: 1, plan: 1 } });
      const text = JSON.stringify(body);
      expect([id, text.includes(trainer?.workEmail ?? '@')]).toEqual([id, false]);
      expect([id, text.includes(customer.token), text.includes('eve@evil.example')]).toEqual([id, false, false]);
    }
  });

  it('says plainly what is not there', async () => {
    const { api } = await openWorld(dialect);
    const missing = [
      ['membersShow', { params: { membership: 999 } }],
      ['plansShow', { params: { plan: 999 } }],
      ['deliveriesShow', { params: { delivery: 999 } }],
      ['auditShow', { params: { act: 999 } }],
      ['explainShow', { query: { subject: 'unknown' } }],
      ['usageShow', { params: { contract: 'none' } }],
      ['budgetsShow', { params: { contract: 'none' } }],
      ['linksList', { query: { install: 'unknown' } }],
    ] as const;
    for (const [id, given] of missing) {
      expect(await api.send(id, given)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    }
  });
});

describe('a cursor', () => {
  it('of another list is refused', async () => {
    const { api } = await openWorld(sqlite);
    const { next } = await api.ask('membersList', { query: { limit: 1 } });
    const answer = await api.send('deliveriesList', { query: { cursor: String(next) } });
    expect(answer).toMatchObject({ status: 422, body: { code: 'unprocessable' } });
  });
});
