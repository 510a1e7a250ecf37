import { expect, it } from 'vitest';
import { identity, account as me, personalScopes, tokens } from '../../src/marketplace/contract/account.ts';
import { contracts, credits } from '../../src/marketplace/contract/contracts.ts';
import { drafts } from '../../src/marketplace/contract/jobs.ts';
import { type AccountWorld, hourMs, openAccount, refusalIn } from './account-harness.ts';
import { request } from './sandbox-harness.ts';

const scopes = ['jobs:read', 'jobs:write', 'proposals:read', 'messages:read', 'payments:read', 'team:read'];

it('registers an unclaimed account, whose token has the scopes before the claim', async () => {
  const { ask, url } = await openAccount();
  const { status, body } = await ask(identity.register, { agent_name: 'Scout', organization_name: 'Acme' });
  expect([status, body.identity_type, body.token_type, body.scopes]).toEqual([200, 'anonymous', 'bearer', scopes]);
  expect([body.access_token, body.claim_token]).toEqual([
    expect.stringMatching(/^ot_pat_/),
    expect.stringMatching(/^ot_clm_/),
  ]);
  expect([body.claim_endpoint, body.token_endpoint, body.grant_type]).toEqual([
    `${url}/api/agent/identity/claim`,
    `${url}/api/agent/oauth/token`,
    'urn:opentrain:agent-auth:grant-type:claim',
  ]);
  const lifeMs = Date.parse(body.claim_token_expires_at) - Date.now();
  expect(Math.round(lifeMs / hourMs)).toBe(24);

  const token = body.access_token;
  expect((await ask(me.me, {}, { token })).body).toMatchObject({ actor: { email: null }, token: { scopes } });
  expect((await ask(drafts.create, { rawJobDescription: 'Signs' }, { token })).status).toBe(200);
  const { body: full } = await ask(tokens.create, { scopes }, { token });
  expect(full.metadata.scopes).toEqual(scopes);
  expect((await ask(tokens.create, { scopes: ['payments:write'] }, { token })).status).toBe(403);
  expect((await ask(me.me, {}, { token: body.claim_token })).status).toBe(401);
});

it.each([
  [{ identity_type: 'person' }, 'unsupported_identity_type', 400],
  [{ identity_type: 7 }, 'invalid_request', 400],
])('refuses the registration %j as OAuth does', async (input, error, status) => {
  const { ask } = await openAccount();
  const refused = await ask(identity.register, input);
  expect(refused).toEqual({ status, body: { error, error_description: expect.any(String) } });
});

it.each([
  ['anonymous_not_enabled', 403],
  ['rate_limit_exceeded', 429],
] as const)('refuses registrations with %s while it is so', async (refusal, status) => {
  const { ask, sandbox, url } = await openAccount();
  sandbox.setRegistration({ refusal });
  expect(refusalIn(await ask(identity.register))).toEqual([status, refusal]);
  const { headers } = await fetch(`${url}/api/agent/identity`, { method: 'POST', body: '{}' });
  expect(headers.has('retry-after')).toBe(status === 429);
  sandbox.setRegistration({ refusal: null });
  expect((await ask(identity.register)).status).toBe(200);
});

it('answers the token after the claim once, when a person has claimed the account', async () => {
  const { world, claim_token, poll, accountId, token } = await openRegistered();
  const started = await world.ask(identity.claim, { claim_token });
  expect(started.body).toMatchObject({ claim_url: `https://app.opentrain.ai/claim/${accountId}`, interval: 5 });
  expect((await world.ask(identity.claim, { claim_token })).body).toEqual(started.body);

  expect(refusalIn(await poll())).toEqual([400, 'authorization_pending']);
  expect(refusalIn(await poll())).toEqual([400, 'slow_down']);
  world.wait(6000);
  expect(refusalIn(await poll())).toEqual([400, 'slow_down']);
  world.wait(15_000);
  expect(refusalIn(await poll())).toEqual([400, 'authorization_pending']);

  const unclaimed = await world.ask(credits.topUp, { amountUsd: 10 }, { token });
  expect(unclaimed.status).toBe(403);
  world.sandbox.claimAccount(accountId);
  expect(() => world.sandbox.claimAccount(accountId)).toThrow('already claimed');
  world.wait(15_000);
  const { body } = await poll();
  expect(body).toMatchObject({ token_type: 'bearer', scopes: personalScopes });
  expect((await world.ask(credits.topUp, { amountUsd: 10 }, { token: body.access_token })).status).toBe(201);
  expect((await world.ask(me.me, {}, { token })).body.actor.email).toBe('employer@example.com');
  expect(refusalIn(await poll())).toEqual([400, 'invalid_grant']);
  expect(refusalIn(await world.ask(identity.claim, { claim_token }))).toEqual([400, 'invalid_grant']);
});

it('lets a claim token live 24 hours', async () => {
  const { world, claim_token, poll, accountId, token } = await openRegistered();
  world.wait(24 * hourMs);
  expect(refusalIn(await poll())).toEqual([400, 'expired_token']);
  expect(refusalIn(await world.ask(identity.claim, { claim_token }))).toEqual([400, 'expired_token']);
  expect(() => world.sandbox.claimAccount(accountId)).toThrow('expired');
  expect((await world.ask(me.me, {}, { token })).status).toBe(200);
});

it('refuses polls and claims that are wrong', async () => {
  const { world, poll } = await openRegistered();
  expect(refusalIn(await poll({ grant_type: 'password' }))).toEqual([400, 'unsupported_grant_type']);
  expect(refusalIn(await poll({ claim_token: 'ot_clm_unknown' }))).toEqual([400, 'invalid_grant']);
  expect(refusalIn(await poll({ claim_token: 7 }))).toEqual([400, 'invalid_request']);
  expect(refusalIn(await world.ask(identity.claim, { claim_token: 'ot_pat_1' }))).toEqual([400, 'invalid_grant']);
  expect(refusalIn(await world.ask(identity.claim))).toEqual([400, 'invalid_request']);
  expect(refusalIn(await world.ask(identity.claim, {}, { rawBody: '{' }))).toEqual([400, 'invalid_request']);
});

it('revokes a token that is presented, and says the same of an unknown one', async () => {
  const { ask, token } = await openAccount();
  expect(await ask(identity.revoke, { token: 'ot_pat_unknown' })).toEqual({ status: 200, body: {} });
  expect((await ask(me.me)).status).toBe(200);
  expect(await ask(identity.revoke, { token }, { token: undefined })).toEqual({ status: 200, body: {} });
  expect((await ask(me.me)).status).toBe(401);
  expect(await ask(identity.revoke, { token })).toEqual({ status: 200, body: {} });
  expect(refusalIn(await ask(identity.revoke))).toEqual([400, 'invalid_request']);
});

it('refuses what only a claimed account may do, with the address to claim it', async () => {
  const { ask, sandbox } = await openAccount();
  const { token, accountId } = sandbox.createAccount({ isClaimed: false });
  const { id: jobId } = sandbox.createJob({ accountId });
  const { contractId } = sandbox.hire({ jobId });
  const refused = await ask(contracts.end, { contractId }, { token });
  const claimUrl = `https://app.opentrain.ai/claim/${accountId}`;
  expect([refused.status, refused.body.details]).toEqual([403, { reason: 'account_claim_required', claimUrl }]);
  sandbox.claimAccount(accountId);
  expect((await ask(contracts.end, { contractId }, { token })).status).toBe(200);
});

it('has no other operation for agents', async () => {
  const { url } = await openAccount();
  expect(await request('POST', `${url}/api/agent/identities`, { body: {} })).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND' },
  });
});

async function openRegistered() {
  const world: AccountWorld = await openAccount();
  const { body } = await world.ask(identity.register);
  const { claim_token, grant_type, access_token: token } = body;
  const { id: accountId = '' } = world.sandbox.snapshot().accounts.at(-1) ?? {};
  const poll = (other: object = {}) => world.ask(identity.token, { grant_type, claim_token, ...other });
  return { world, claim_token, token, poll, accountId };
}
