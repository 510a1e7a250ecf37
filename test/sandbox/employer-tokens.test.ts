import { describe, expect, it } from 'vitest';
import { openAccount } from './account-harness.ts';
import { request } from './sandbox-harness.ts';

describe('the account of a token', () => {
  it('is shown with the scopes of the token', async () => {
    const { api, accountId } = await openAccount({ scopes: ['payments:read'] });
    const { status, body } = await api('GET', '/auth/me');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      actor: { userType: 'EMPLOYER' },
      token: { scopes: ['payments:read'], ownerOrganizationId: accountId },
      account: { kind: 'employer_organization', organizationId: accountId, ownerUserId: body.actor.userId },
    });
  });

  it('is not shown without a live token, and the error has the usual envelope', async () => {
    const { api, sandbox, accountId } = await openAccount();
    for (const token of ['ot_pat_unknown', 'ot_ptk_of_a_platform', 'nonsense']) {
      const { status, body } = await api('GET', '/auth/me', { token });
      expect([status, body]).toEqual([
        401,
        { error: expect.any(String), code: 'UNAUTHORIZED', requestId: expect.any(String) },
      ]);
    }
    sandbox.revokeAccountTokens(accountId);
    expect((await api('GET', '/auth/me')).status).toBe(401);
  });
});

describe('a personal token', () => {
  it('is replaced by one with fewer scopes, and revoked last', async () => {
    const { api } = await openAccount();
    const { body: me } = await api('GET', '/auth/me');
    const made = await api('POST', '/tokens', { body: { name: 'gangway', scopes: ['payments:read'] } });
    expect(made).toMatchObject({
      status: 201,
      body: {
        token: expect.stringMatching(/^ot_pat_/),
        tokenType: 'bearer',
        metadata: { name: 'gangway', status: 'active' },
      },
    });
    const { token } = made.body;
    expect((await api('GET', '/contracts', { token })).status).toBe(200);

    const revoked = await api('DELETE', `/tokens/${me.token.id}`, { token });
    expect(revoked.body.token).toMatchObject({ id: me.token.id, status: 'revoked', revokedAt: expect.any(String) });
    expect((await api('GET', '/auth/me')).status).toBe(401);
    const { body } = await api('GET', '/tokens', { token });
    expect(body.tokens.map(({ status }: { status: string }) => status)).toEqual(['revoked', 'active']);
    expect(JSON.stringify(body)).not.toContain(token);
  });

  it('stops working when it has expired or is revoked, but stays in the list, and calls with it are counted', async () => {
    let now = new Date('2026-03-15T12:00:00.000Z');
    const { api, sandbox } = await openAccount({}, { clock: { now: () => now } });
    const expiresAt = '2026-03-15T13:00:00.000Z';
    const expiring = (await api('POST', '/tokens', { body: { expiresAt } })).body;
    const revoked = (await api('POST', '/tokens')).body;
    for (const { token } of [expiring, revoked]) expect((await api('GET', '/contracts', { token })).status).toBe(200);
    await api('DELETE', `/tokens/${revoked.metadata.id}`);
    now = new Date(expiresAt);
    for (const { token } of [expiring, revoked, revoked])
      expect((await api('GET', '/contracts', { token })).status).toBe(401);
    const listed = (await api('GET', '/tokens')).body.tokens;
    expect(listed).toMatchObject([
      { status: 'active', expiresAt: null, revokedAt: null },
      { status: 'active', expiresAt },
      { status: 'revoked', revokedAt: expect.any(String) },
    ]);
    expect(JSON.stringify(listed)).not.toContain('refused');
    expect(sandbox.snapshot().accounts[0]?.tokens.map(({ refused }) => refused)).toEqual([0, 1, 2]);
  });

  it('never has a scope that its creator lacks; write includes read', async () => {
    const { api } = await openAccount({ scopes: ['jobs:write', 'payments:read'] });
    expect((await api('POST', '/tokens', { body: { scopes: ['jobs:read'] } })).status).toBe(201);
    const { status, body } = await api('POST', '/tokens', { body: { scopes: ['payments:read', 'payments:write'] } });
    expect([status, body.details]).toEqual([
      403,
      {
        requestedScopes: ['payments:read', 'payments:write'],
        grantedScopes: ['jobs:write', 'payments:read'],
        escalatedScopes: ['payments:write'],
      },
    ]);
  });

  it.each([
    [{ scopes: ['payments:read', 'money:take'] }, { unknownScopes: ['money:take'] }],
    [{ scopes: 'payments:read' }, { field: 'scopes' }],
    [{ name: '' }, { field: 'name' }],
    [{ name: 'a'.repeat(121) }, { field: 'name' }],
    [{ expiresAt: 'tomorrow' }, { field: 'expiresAt' }],
    [{ expiresAt: '2020-01-01T00:00:00.000Z' }, { field: 'expiresAt' }],
  ])('is not made as %o', async (wanted, details) => {
    const { api } = await openAccount();
    const { status, body } = await api('POST', '/tokens', { body: wanted });
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    expect(body.details).toMatchObject(details);
  });

  it('is one of 25 that work at once', async () => {
    const { api } = await openAccount();
    const made = await Promise.all(Array.from({ length: 24 }, () => api('POST', '/tokens')));
    expect(made.map(({ status }) => status)).toEqual(Array.from({ length: 24 }, () => 201));
    expect(await api('POST', '/tokens')).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    await api('DELETE', `/tokens/${made[0]?.body.metadata.id}`);
    expect((await api('POST', '/tokens')).status).toBe(201);
  });

  it('of another account does not exist', async () => {
    const { api, sandbox } = await openAccount();
    const { body: me } = await api('GET', '/auth/me');
    const other = sandbox.createAccount();
    const answer = await api('DELETE', `/tokens/${me.token.id}`, { token: other.token });
    expect(answer).toMatchObject({ status: 404, body: { code: 'NOT_FOUND', details: { tokenId: me.token.id } } });
  });
});

describe('a call is let through by scope, feature and claim', () => {
  const webhook = { url: 'https://bridge.example.com/hook', eventTypes: ['contract.created'] };

  it.each([
    ['GET', '/jobs/mine', ['jobs:read']],
    ['GET', '/contracts', ['payments:read']],
    ['GET', '/approvals/apr_1', ['payments:read']],
    ['POST', '/contracts/ctr_1/end', ['payments:write']],
    ['GET', '/messaging/management/messaging_management.members.get', ['messages:read']],
    ['GET', '/webhooks', ['webhooks:manage']],
    ['GET', '/updates', ['proposals:read', 'messages:read', 'payments:read']],
  ])('%s %s names the scope that is missing', async (method, path, requiredScopes) => {
    const { api } = await openAccount({ scopes: ['team:read'] });
    const { status, body } = await api(method, path);
    expect([status, body.details]).toEqual([403, { requiredScopes, grantedScopes: ['team:read'] }]);
  });

  it('names the feature that is off', async () => {
    const { api } = await openAccount({ featuresOff: ['public_api_webhooks', 'public_api_payments_write'] });
    const end = await api('POST', '/contracts/ctr_1/end');
    expect(end).toMatchObject({ status: 403, body: { details: { featureKey: 'public_api_payments_write' } } });
    const hook = await api('POST', '/webhooks', { body: webhook });
    expect(hook).toMatchObject({ status: 403, body: { details: { featureKey: 'public_api_webhooks' } } });
  });

  it('says where to claim an account, but reads without a claim', async () => {
    const { api } = await openAccount({ isClaimed: false });
    const { status, body } = await api('POST', '/contracts/ctr_1/end');
    expect([status, body.details]).toEqual([
      403,
      { reason: 'account_claim_required', claimUrl: expect.stringMatching(/^https:/) },
    ]);
    expect((await api('GET', '/contracts')).status).toBe(200);
  });

  it('accepts accounts and their events from programs on this machine', async () => {
    const { url, accountId, api } = await openAccount();
    const made = await request('POST', `${url}/sandbox/accounts`, { body: { isClaimed: false } });
    expect((await api('GET', '/auth/me', { token: made.body.token })).status).toBe(200);
    const news = {
      type: 'message.received',
      resourceId: 'msg_1',
      data: { conversationId: 'dm_1', messageId: 'msg_1' },
    };
    await request('POST', `${url}/sandbox/accounts/${accountId}/news`, { body: news });
    expect((await api('GET', '/updates')).body.events).toMatchObject([{ ...news, jobId: null }]);
  });
});
