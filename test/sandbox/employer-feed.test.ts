import { describe, expect, it } from 'vitest';
import { digestOf } from '../support/sign.ts';
import { type AccountWorld, openAccount } from './account-harness.ts';
import { answerWith, minuteMs, openReceiver, request } from './sandbox-harness.ts';

const allRetriesMs = 156 * minuteMs;

describe("an employer's webhook", () => {
  it('gets what happens after it was created, as in the feed, and signed', async () => {
    const { sandbox, jobId, api } = await openAccount();
    const receiver = await openReceiver();
    sandbox.hire({ jobId });
    const { secret } = await subscribe(api, receiver.url);
    const { contractId } = sandbox.hire({ jobId });
    await sandbox.idle();

    const { events } = (await api('GET', '/updates')).body;
    expect(receiver.received).toHaveLength(1);
    const [{ headers, rawBody, event } = { headers: {}, rawBody: '', event: {} }] = receiver.received;
    expect(event).toEqual(events[1]);
    expect(event).toMatchObject({ type: 'contract.created', resourceId: contractId, data: { contractId, jobId } });
    expect(headers).toMatchObject({ 'x-opentrain-event': 'contract.created', 'user-agent': 'OpenTrain-Webhooks/1.0' });
    const [, t = '', v1] = /^t=(\d+),v1=(\w+)$/.exec(String(headers['x-opentrain-signature'])) ?? [];
    expect(v1).toBe(digestOf(rawBody, secret, Number(t)));
  });

  it('is listed and read without its secret, and is gone when it is deleted', async () => {
    const { sandbox, jobId, api } = await openAccount();
    const receiver = await openReceiver();
    const { id, secret } = await subscribe(api, receiver.url);
    const { body } = await api('GET', '/webhooks');
    expect(body.webhooks).toEqual([(await api('GET', `/webhooks/${id}`)).body.webhook]);
    expect(Object.keys(body.webhooks[0])).toEqual([
      'id',
      'url',
      'eventTypes',
      'status',
      'createdAt',
      'disabledAt',
      'disabledReason',
    ]);
    expect(JSON.stringify(body)).not.toContain(secret);

    expect((await api('DELETE', `/webhooks/${id}`)).status).toBe(200);
    const gone = await api('GET', `/webhooks/${id}`);
    expect([gone.status, gone.body.details]).toEqual([404, { resource: 'webhooks', webhookId: id }]);
    sandbox.hire({ jobId });
    await sandbox.idle();
    expect(receiver.received).toEqual([]);
  });

  it('is one of ten, and is hidden from other accounts', async () => {
    const { sandbox, api } = await openAccount();
    const made = await Promise.all(Array.from({ length: 10 }, () => subscribe(api, 'https://bridge.example.com/hook')));
    const body = { url: 'https://bridge.example.com/hook', eventTypes: ['contract.created'] };
    expect(await api('POST', '/webhooks', { body })).toMatchObject({ status: 409, body: { details: { limit: 10 } } });
    const { token } = sandbox.createAccount();
    expect((await api('DELETE', `/webhooks/${made[0]?.id}`, { token })).status).toBe(404);
    expect((await api('GET', '/webhooks', { token })).body).toEqual({ webhooks: [] });
  });

  it.each([
    [{ eventTypes: ['contract.created'] }, { field: 'url' }],
    [{ url: 'http://bridge.example.com/hook', eventTypes: ['contract.created'] }, { field: 'url' }],
    [{ url: `https://bridge.example.com/${'a'.repeat(2048)}`, eventTypes: ['contract.created'] }, { field: 'url' }],
    [{ url: 'https://bridge.example.com/hook', eventTypes: [] }, { field: 'eventTypes' }],
    [
      { url: 'https://bridge.example.com/hook', eventTypes: ['contract.started'] },
      { supportedEventTypes: expect.arrayContaining(['contract.created']) },
    ],
  ])('is not made as %o', async (body, details) => {
    const { api } = await openAccount();
    const answer = await api('POST', '/webhooks', { body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST', details } });
  });

  it('needs the scope of each of its event types', async () => {
    const { api } = await openAccount({ scopes: ['webhooks:manage', 'payments:read'] });
    const body = { url: 'https://bridge.example.com/hook', eventTypes: ['contract.created', 'message.received'] };
    const { status, body: refused } = await api('POST', '/webhooks', { body });
    expect([status, refused.details.requiredScopes]).toEqual([403, ['messages:read']]);
  });

  it('is disabled after ten deliveries that used up their attempts, and not before', async () => {
    const { sandbox, jobId, api } = await openAccount();
    const receiver = await openReceiver();
    receiver.respond = answerWith(500);
    const { id } = await subscribe(api, receiver.url);
    const failOnce = async (): Promise<string> => {
      sandbox.hire({ jobId });
      await sandbox.advance(allRetriesMs);
      return (await api('GET', `/webhooks/${id}`)).body.webhook.status;
    };
    for (let count = 1; count < 10; count += 1) expect([count, await failOnce()]).toEqual([count, 'ACTIVE']);
    expect(await failOnce()).toBe('DISABLED');
    expect(receiver.received).toHaveLength(50);
  });
});

describe('the feed of updates', () => {
  it('is read page by page from a cursor, oldest first, and returns the same cursor at the end', async () => {
    const { sandbox, jobId, api } = await openAccount();
    const hired = Array.from({ length: 25 }, () => sandbox.hire({ jobId }).contractId);
    const read: string[] = [];
    let page = await updates(api, 'limit=10');
    for (;;) {
      read.push(...page.events.map(({ resourceId }: { resourceId: string }) => resourceId));
      if (!page.hasMore) break;
      page = await updates(api, `limit=10&cursor=${page.nextCursor}`);
    }
    expect(read).toEqual(hired);
    const end = await updates(api, `cursor=${page.nextCursor}`);
    expect(end).toEqual({ events: [], nextCursor: page.nextCursor, hasMore: false });
  });

  it('has ids that grow, beyond what a number holds and past one more digit', async () => {
    const { sandbox, jobId, api } = await openAccount();
    for (let count = 0; count < 12; count += 1) sandbox.hire({ jobId });
    const { events } = await updates(api);
    const ids: bigint[] = events.map(({ id }: { id: string }) => BigInt(id));
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => (a < b ? -1 : 1)));
    expect(ids[0]).toBeGreaterThan(2n ** 53n);
    expect(String(ids.at(-1)).length).toBeGreaterThan(String(ids[0]).length);
    const { events: rest } = await updates(api, `cursor=${ids[10]}`);
    expect(rest).toEqual([events[11]]);
  });

  it('silently leaves out what the token may not read', async () => {
    const { sandbox, accountId, jobId, api } = await openAccount();
    const message = { conversationId: 'dm_1', messageId: 'msg_1' };
    sandbox.raiseNews(accountId, { type: 'message.received', resourceId: 'msg_1', data: message });
    sandbox.hire({ jobId });
    const proposal = { proposalId: 'prp_1', jobId };
    sandbox.raiseNews(accountId, { type: 'proposal.received', resourceId: 'prp_1', jobId, data: proposal });
    const typesFor = async (scope: string) => {
      const { body } = await api('POST', '/tokens', { body: { scopes: [scope] } });
      const { events, hasMore } = await updates(api, 'limit=1', body.token);
      return [events.map(({ type }: { type: string }) => type), hasMore];
    };
    expect(await typesFor('messages:read')).toEqual([['message.received'], false]);
    expect(await typesFor('payments:read')).toEqual([['contract.created'], false]);
    expect(await typesFor('proposals:read')).toEqual([['proposal.received'], false]);
  });

  it.each([
    ['cursor=newest', 'cursor'],
    ['cursor=-1', 'cursor'],
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
  ])('refuses %s and names the field', async (query, field) => {
    const { api } = await openAccount();
    expect(await api('GET', `/updates?${query}`)).toMatchObject({ status: 400, body: { details: { field } } });
  });

  it('reports changes of milestones and budgets', async () => {
    const { sandbox, url, accountId, jobId, api } = await openAccount();
    const { token } = sandbox.createInstall({ organizationId: accountId });
    const { contractId } = sandbox.hire({ jobId });
    const { milestone: first } = sandbox.fundMilestone(contractId, { volume: 1 });
    await reportHour(url, token, { jobId, contractId });
    const { milestone: second } = sandbox.fundMilestone(contractId, { volume: 9 });
    const { events } = await updates(api);
    const said = events
      .slice(1)
      .map(({ type, data }: { type: string; data: Record<string, unknown> }) => [
        type,
        data['milestoneId'] ?? data['previousState'],
        data['status'] ?? data['state'],
      ]);
    expect(said).toEqual([
      ['milestone.status_changed', first.id, 'ACTIVE_FUNDED'],
      ['contract.budget_state_changed', 'OK', 'DEPLETED'],
      ['milestone.status_changed', first.id, 'COMPLETED'],
      ['milestone.status_changed', second.id, 'ACTIVE_FUNDED'],
      ['contract.budget_state_changed', 'DEPLETED', 'OK'],
    ]);
  });
});

describe('pending payments', () => {
  it('are listed newest first with an event, and gone when they are paid', async () => {
    const { sandbox, jobId, api } = await openAccount();
    const { contractId } = sandbox.hire({ jobId });
    const [first, second] = [sandbox.billContract(contractId), sandbox.billContract(contractId, { amountUsd: 7 })];
    const { payments } = (await api('GET', '/payments/pending')).body;
    expect(payments).toMatchObject([
      { id: second.id, amountUsd: 7, status: 'PENDING_FUNDING', invoiceKind: 'FUNDING', viewerRole: 'EMPLOYER' },
      { id: first.id, job: { id: jobId }, milestone: { id: null } },
    ]);
    expect((await updates(api)).events.slice(1)).toMatchObject([
      { type: 'payment.pending', resourceId: first.id, data: { invoiceId: first.id, contractId } },
      { type: 'payment.pending', resourceId: second.id },
    ]);
    sandbox.settlePayment(first.id);
    expect((await api('GET', '/payments/pending')).body.payments).toMatchObject([{ id: second.id }]);
    expect((await updates(api)).events.at(-1)).toMatchObject({ type: 'milestone.status_changed' });
  });
});

describe('faults', () => {
  it('loses and repeats deliveries, while the feed has each event once', async () => {
    const { sandbox, accountId, jobId, api } = await openAccount();
    const receiver = await openReceiver();
    await subscribe(api, receiver.url);
    sandbox.setFaults(accountId, { lose: { probability: 1, times: 1 }, repeat: 1 });
    const hired = [sandbox.hire({ jobId }).contractId, sandbox.hire({ jobId }).contractId];
    await sandbox.advance(5 * minuteMs);
    expect(receiver.received.map(({ event }) => event.resourceId)).toEqual([hired[1], hired[1]]);
    const { events } = await updates(api);
    expect(events.map(({ resourceId }: { resourceId: string }) => resourceId)).toEqual(hired);
  });

  it('truncates pages, answers 429 and 5xx, and loses nothing', async () => {
    const { sandbox, accountId, jobId, api } = await openAccount();
    sandbox.hire({ jobId });
    const operations = ['GET /updates'];
    sandbox.setFaults(accountId, { cutOff: { probability: 1, times: 1, operations } });
    await expect(api('GET', '/updates')).rejects.toThrow();
    sandbox.setFaults(accountId, { rateLimited: { probability: 1, times: 1, operations } });
    expect(await api('GET', '/updates')).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    sandbox.setFaults(accountId, { serverError: { probability: 1, times: 1, operations } });
    expect((await api('GET', '/contracts')).status).toBe(200);
    expect((await api('GET', '/updates')).status).toBeGreaterThanOrEqual(500);
    expect((await updates(api)).events).toHaveLength(1);
  });
});

async function subscribe(api: AccountWorld['api'], url: string): Promise<{ id: string; secret: string }> {
  const { body } = await api('POST', '/webhooks', { body: { url, eventTypes: ['contract.created'] } });
  return { id: body.webhook.id, secret: body.secret };
}

async function updates(api: AccountWorld['api'], query = '', token?: string) {
  return (await api('GET', `/updates?${query}`, token === undefined ? {} : { token })).body;
}

/** Only platforms report work, so the employer has one too. */
async function reportHour(
  url: string,
  token: string,
  { jobId, contractId }: { jobId: string; contractId: string },
): Promise<void> {
  const post = (path: string, body: object) => request('POST', `${url}/api/partner/v1${path}`, { token, body });
  await post('/project-links', { externalProjectId: 'streets', jobId });
  const workDate = new Date().toISOString().slice(0, 10);
  const answer = await post(`/contracts/${contractId}/usage`, { entries: [{ workDate, totalSeconds: 3600 }] });
  expect(answer.status).toBe(200);
}
