import { describe, expect, it } from 'vitest';
import { type AccountWorld, openAccount } from './account-harness.ts';

const hourMs = 3_600_000;

describe("an employer's contracts", () => {
  it('are listed newest first, by job and by status, as masked people', async () => {
    const { sandbox, accountId, jobId, api } = await openAccount();
    const other = sandbox.createJob({ accountId });
    const [first, second] = [sandbox.hire({ jobId }).contractId, sandbox.hire({ jobId }).contractId];
    const third = sandbox.hire({ jobId: other.id }).contractId;
    sandbox.endContract(first);
    expect(await list(api)).toEqual([third, second, first]);
    expect(await list(api, `jobId=${jobId}`)).toEqual([second, first]);
    expect(await list(api, `jobId=${jobId}&status=active`)).toEqual([second]);
    expect(await list(api, 'status=ended')).toEqual([first]);
    const { body } = await api('GET', `/contracts?jobId=${other.id}`);
    expect(body.contracts[0].freelancer).toEqual({
      userId: expect.any(String),
      displayName: expect.stringMatching(/^\p{L}+ \p{Lu}\.$/u),
      country: 'PT',
      profilePath: expect.stringMatching(/^\/trainers\//),
    });
    expect(Object.keys(body)).toEqual(['contracts']);
  });

  it('come in pages if the marketplace has cursors', async () => {
    const { sandbox, jobId, api } = await openAccount({}, { cursors: true });
    const hired = Array.from({ length: 51 }, () => sandbox.hire({ jobId }).contractId).reverse();
    const { body: page } = await api('GET', '/contracts');
    expect([page.contracts.length, page.contracts[0].id]).toEqual([50, hired[0]]);
    const { body: last } = await api('GET', `/contracts?cursor=${page.nextCursor}`);
    expect([last.contracts[0].id, last.nextCursor]).toEqual([hired[50], null]);
    expect((await api('GET', '/contracts?cursor=forged')).status).toBe(400);
  });

  it("are refused for another account's job, an unknown job and an unknown status", async () => {
    const { sandbox, api } = await openAccount();
    const foreign = sandbox.createJob({ accountId: sandbox.createAccount().accountId });
    const { contractId } = sandbox.hire({ jobId: foreign.id });
    expect((await api('GET', `/contracts?jobId=${foreign.id}`)).status).toBe(403);
    expect((await api('GET', '/contracts?jobId=job_unknown')).status).toBe(404);
    expect(await api('GET', '/contracts?status=paused')).toMatchObject({
      status: 400,
      body: { details: { field: 'status' } },
    });
    expect((await api('GET', `/contracts/${contractId}`)).status).toBe(404);
  });

  it('are of jobs that are listed with their titles', async () => {
    const { sandbox, accountId, jobId, api } = await openAccount();
    const { id } = sandbox.createJob({ accountId, title: 'Label lanes' });
    const { body: page } = await api('GET', '/jobs/mine?limit=1');
    expect(page.jobs).toMatchObject([{ id, title: 'Label lanes' }]);
    const { body: last } = await api('GET', `/jobs/mine?limit=1&cursor=${page.nextCursor}`);
    expect([last.jobs[0].id, last.nextCursor]).toEqual([jobId, null]);
  });
});

describe('the work email of a hired trainer', () => {
  it('is shown with the scope and consent, and null until there is an address', async () => {
    const world = await openAccount();
    const { contractId, trainers } = world.sandbox.hire({ jobId: world.jobId });
    const { opentrainUserId: trainer = '', workEmail } = trainers[0] ?? {};
    expect(await member(world, contractId)).toMatchObject({ userId: trainer, contractId, workEmail });

    world.sandbox.setWorkEmail(trainer, { isShared: false });
    expect(await member(world, contractId)).not.toHaveProperty('workEmail');
    world.sandbox.setWorkEmail(trainer, { isShared: true, workEmail: null });
    expect(await member(world, contractId)).toMatchObject({ workEmail: null });

    world.sandbox.setWorkEmail(trainer, { workEmail: 'ana@opentrain.work' });
    expect(await member(world, contractId)).toMatchObject({ workEmail: 'ana@opentrain.work' });
    expect(await member(world, contractId, '')).not.toHaveProperty('workEmail');
    const { body } = await world.api('POST', '/tokens', { body: { scopes: ['payments:read', 'messages:read'] } });
    expect(await member(world, contractId, '&includeWorkEmail=true', body.token)).not.toHaveProperty('workEmail');
  });

  it('needs a claimed account and its own conversation', async () => {
    const { sandbox, jobId, api } = await openAccount();
    const { contractId } = sandbox.hire({ jobId });
    const { body } = await api('GET', `/contracts/${contractId}`);
    const query = `conversationId=${body.contract.jobDmConversationId}&contractId=${contractId}`;
    const other = sandbox.createAccount();
    const roster = '/messaging/management/messaging_management.members.get';
    expect((await api('GET', `${roster}?${query}`, { token: other.token })).status).toBe(404);
    const unclaimed = sandbox.createAccount({ isClaimed: false });
    const refused = await api('GET', `${roster}?${query}`, { token: unclaimed.token });
    expect(refused.body.details.reason).toBe('account_claim_required');
    const unknown = query.replace(/contractId=.*/, 'contractId=ctr_unknown');
    expect((await api('GET', `${roster}?${unknown}`)).body).toEqual({ membership: 'none' });
  });
});

describe('the end of a contract', () => {
  it('comes at once, and without an event, if no milestone is funded', async () => {
    const { sandbox, jobId, api } = await openAccount();
    const { contractId } = sandbox.hire({ jobId });
    expect((await api('POST', `/contracts/${contractId}/end`)).body).toEqual({ ok: true, contractId, status: 'ended' });
    expect(await list(api, 'status=ended')).toEqual([contractId]);
    const again = await api('POST', `/contracts/${contractId}/end`);
    expect([again.status, again.body.details]).toEqual([409, { reason: 'contract_ended' }]);
    expect(await feed(api)).toEqual(['contract.created']);
  });

  it("waits for a person's confirmation if a milestone is funded", async () => {
    const world = await openFunded();
    const { sandbox, api, contractId } = world;
    const asked = await api('POST', `/contracts/${contractId}/end`);
    expect(asked.status).toBe(202);
    const { id, expiresAt, createdAt, ...approval } = asked.body.approval;
    expect(approval).toMatchObject({
      type: 'contract_end',
      status: 'pending',
      contractId,
      resolvedAt: null,
      result: null,
    });
    expect(approval.approvalUrl).toContain(id);
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(72 * hourMs);
    expect((await api('POST', `/contracts/${contractId}/end`)).body.approval.id).toBe(id);
    expect(await list(api, 'status=active')).toEqual([contractId]);

    sandbox.resolveApproval(id, 'confirmed');
    expect(await list(api, 'status=ended')).toEqual([contractId]);
    const { body } = await api('GET', `/approvals/${id}`);
    expect(body.approval).toMatchObject({ status: 'confirmed', result: { contractId, status: 'ended' } });
    expect(() => sandbox.resolveApproval(id, 'declined')).toThrow('confirmed');
  });

  it('does not come if it is declined or nobody acts for three days; the event is the same as for a confirmed one', async () => {
    const world = await openFunded();
    const { sandbox, api, contractId } = world;
    const declined = await api('POST', `/contracts/${contractId}/end`);
    sandbox.resolveApproval(declined.body.approval.id, 'declined');
    const { body } = await api('POST', `/contracts/${contractId}/end`);
    expect(body.approval.id).not.toBe(declined.body.approval.id);
    world.wait(72 * hourMs);
    expect((await api('GET', `/approvals/${body.approval.id}`)).body.approval.status).toBe('expired');
    expect(await list(api, 'status=active')).toEqual([contractId]);
    const { events } = (await api('GET', '/updates')).body;
    const said = events.filter(({ type }: { type: string }) => type === 'approval.confirmed');
    expect(said.map(({ data }: { data: { status: string } }) => data.status)).toEqual(['declined', 'expired']);
  });

  it('is shown only to its own account', async () => {
    const { sandbox, api, contractId } = await openFunded();
    const { body } = await api('POST', `/contracts/${contractId}/end`);
    const { token } = sandbox.createAccount();
    const { id: approvalId } = body.approval;
    const hidden = await api('GET', `/approvals/${approvalId}`, { token });
    expect([hidden.status, hidden.body.details]).toEqual([404, { resource: 'approvals', approvalId }]);
    expect((await api('POST', `/contracts/${contractId}/end`, { token })).status).toBe(404);
  });
});

async function openFunded() {
  let now = new Date('2026-03-15T12:00:00.000Z');
  const world = await openAccount({}, { clock: { now: () => now } });
  const { contractId } = world.sandbox.hire({ jobId: world.jobId });
  world.sandbox.fundMilestone(contractId);
  const wait = (ms: number): void => {
    now = new Date(now.getTime() + ms);
  };
  return { ...world, contractId, wait };
}

async function list(api: AccountWorld['api'], query = ''): Promise<string[]> {
  const { body } = await api('GET', `/contracts?${query}`);
  return body.contracts.map(({ id }: { id: string }) => id);
}

async function feed(api: AccountWorld['api']): Promise<string[]> {
  const { body } = await api('GET', '/updates');
  return body.events.map(({ type }: { type: string }) => type);
}

/** As a bridge reads it: the contract names its conversation, and that has the member. */
async function member({ api, token }: AccountWorld, contractId: string, asked = '&includeWorkEmail=true', as = token) {
  const { body } = await api('GET', `/contracts/${contractId}`, { token: as });
  const query = `conversationId=${body.contract.jobDmConversationId}&contractId=${contractId}${asked}`;
  const path = `/messaging/management/messaging_management.members.get?${query}`;
  return (await api('GET', path, { token: as })).body.membership;
}
