import { expect, it } from 'vitest';
import { createEmployerSource } from '../../../src/marketplace/employer/create-employer-source.ts';
import { toLink } from '../../../src/marketplace/source.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';
import { failureOf, signal } from '../failure-of.ts';

const links = [
  toLink('lnk_signs', 'job_signs', 'signs'),
  toLink('lnk_night', 'job_signs', 'signs-by-night'),
  toLink('lnk_lamps', 'job_lamps', 'lamps'),
];

const account = {
  actor: { userId: 'usr_1', userType: 'EMPLOYER' },
  token: { id: 'tok_1', label: 'gangway', scopes: ['payments:read', 'messages:write', 'participant_work_email:read'] },
  account: { kind: 'employer_organization', organizationId: 'org_1', ownerUserId: 'usr_1', memberRole: 'OWNER' },
};

const contract = {
  id: 'con_1',
  status: 'active',
  jobId: 'job_signs',
  freelancer: { userId: 'ada', displayName: 'Ada L.' },
};

/** Answers by path and query: a body, or a status with a body. */
type Answers = Record<string, unknown>;

async function open(answers: Answers) {
  const fake = await openHttpFake(({ url = '' }, response) => {
    const answer = answers[url] ?? [404, { error: 'There is no such thing' }];
    if (Array.isArray(answer)) sendJson(response, answer[1], answer[0]);
    else sendJson(response, answer);
  });
  const source = createEmployerSource({
    baseUrl: fake.url,
    token: 'ot_pat_1',
    links: { list: async () => links, create: () => Promise.reject(), remove: () => Promise.reject() },
  });
  return { source, asked: () => fake.requests.map(({ line }) => line) };
}

const ofSigns = '/contracts?jobId=job_signs&status=active';
const ofLamps = '/contracts?jobId=job_lamps&status=active';
const detail = '/contracts/con_1';
const member =
  '/messaging/management/messaging_management.members.get?conversationId=dm_1&contractId=con_1&includeWorkEmail=true';

it('is the account that the token belongs to, and may be several installs', async () => {
  const { source } = await open({ '/auth/me': account });
  expect(await source.readGrant(signal)).toEqual({
    id: 'org_1',
    status: 'ACTIVE',
    organizationId: 'org_1',
    isShared: true,
    token: { id: 'tok_1', name: 'gangway', scopes: account.token.scopes },
  });
});

it('is its owner if there is no organization', async () => {
  const alone = { ...account, account: { kind: 'employer', organizationId: null, ownerUserId: 'usr_9' } };
  const { source } = await open({ '/auth/me': alone });
  expect(await source.readGrant(signal)).toMatchObject({ id: 'usr_9', organizationId: null });
});

it('lists the contracts job by job, each on all links of its job', async () => {
  const { source, asked } = await open({
    [ofSigns]: { contracts: [contract] },
    [ofLamps]: { contracts: [{ ...contract, id: 'con_2', jobId: null }] },
  });
  expect(await source.listContracts({ status: 'active' }, signal)).toMatchObject({
    contracts: [
      { id: 'con_1', projectLinkIds: ['lnk_signs', 'lnk_night'] },
      { id: 'con_2', projectLinkIds: ['lnk_lamps'] },
    ],
    isComplete: true,
    unreadLinks: [],
  });
  expect(asked()).toEqual([`GET ${ofSigns}`, `GET ${ofLamps}`]);
  await source.listContracts({ status: 'active', projectLinkId: 'lnk_lamps' }, signal);
  expect(asked().at(-1)).toBe(`GET ${ofLamps}`);
});

it('puts a contract of another job on no link of the requested job', async () => {
  const elsewhere = { ...contract, id: 'con_3', jobId: 'job_unlinked' };
  const everything = { contracts: [contract, elsewhere] };
  const { source } = await open({ [ofSigns]: everything, [ofLamps]: everything });
  expect((await source.listContracts({ status: 'active' }, signal)).contracts).toMatchObject([
    { id: 'con_1', projectLinkIds: ['lnk_signs', 'lnk_night'] },
    { id: 'con_3', projectLinkIds: [] },
  ]);
});

it.each([403, 404])('leaves the links of a job that answers %d unread, and reads the others', async (status) => {
  const { source } = await open({ [ofSigns]: [status, { error: 'Not yours' }], [ofLamps]: { contracts: [] } });
  const { contracts, isComplete, unreadLinks } = await source.listContracts({ status: 'active' }, signal);
  expect([contracts, isComplete]).toEqual([[], true]);
  const refusal = {
    status,
    message: `Could not list the contracts of the job job_signs: answered ${status}: Not yours`,
  };
  expect(unreadLinks).toMatchObject([
    { linkId: 'lnk_signs', jobId: 'job_signs', refusal },
    { linkId: 'lnk_night', jobId: 'job_signs', refusal },
  ]);
});

it('fails if every job is refused, or one cannot be asked', async () => {
  const refused = await open({ [ofSigns]: [403, {}], [ofLamps]: [403, {}] });
  expect(await failureOf(refused.source.listContracts({ status: 'active' }, signal))).toMatchObject({ status: 403 });
  const revoked = await open({ [ofSigns]: { contracts: [contract] }, [ofLamps]: [401, {}] });
  expect(await failureOf(revoked.source.listContracts({ status: 'active' }, signal))).toMatchObject({ status: 401 });
});

it('follows a cursor if there is one, and takes a list with more but no cursor for incomplete', async () => {
  const { source } = await open({
    [ofSigns]: { contracts: [contract], nextCursor: 'c2' },
    [`${ofSigns}&cursor=c2`]: { contracts: [{ ...contract, id: 'con_9' }] },
    [ofLamps]: { contracts: [{ ...contract, id: 'con_2', jobId: 'job_lamps' }], hasMore: true },
  });
  const signs = await source.listContracts({ status: 'active', projectLinkId: 'lnk_signs' }, signal);
  expect([signs.contracts.map(({ id }) => id), signs.isComplete]).toEqual([['con_1', 'con_9'], true]);
  expect((await source.listContracts({ status: 'active' }, signal)).isComplete).toBe(false);
});

it.each<[string, Answers, object]>([
  ['at membership', { membership: { workEmail: 'ada@opentrain.work' } }, { workEmail: 'ada@opentrain.work' }],
  ['at member', { member: { workEmail: 'ada@opentrain.work' } }, { workEmail: 'ada@opentrain.work' }],
  ['nowhere', { membership: { displayName: 'Ada L.' } }, { workEmail: null, addressMissing: 'not_shared' }],
  ['of nobody', { membership: 'none' }, { workEmail: null, addressMissing: 'not_shared' }],
  ['no address', { membership: { workEmail: 'ada' } }, { workEmail: null, addressMissing: 'not_shared' }],
])('takes the work address from the conversation: %s', async (_, answer, found) => {
  const { source } = await open({
    '/auth/me': account,
    [detail]: { contract: { ...contract, jobDmConversationId: 'dm_1' } },
    [member]: answer,
  });
  await source.readGrant(signal);
  expect(await source.listParticipants('con_1', signal)).toEqual([
    { opentrainUserId: 'ada', displayName: 'Ada L.', ...found },
  ]);
});

it.each([
  [403, 'refused'],
  [404, 'no_conversation'],
])('says of a conversation that answers %d: %s', async (status, addressMissing) => {
  const contractWithDm = { contract: { ...contract, jobDmConversationId: 'dm_1' } };
  const { source } = await open({ [detail]: contractWithDm, [member]: [status, {}] });
  expect(await source.listParticipants('con_1', signal)).toMatchObject([{ workEmail: null, addressMissing }]);
});

it('requests no address without the scope or a conversation', async () => {
  const withoutScope = { ...account, token: { ...account.token, scopes: ['payments:read', 'messages:read'] } };
  const dm = { contract: { ...contract, jobDmConversationId: 'dm_1' } };
  const unscoped = await open({ '/auth/me': withoutScope, [detail]: dm });
  await unscoped.source.readGrant(signal);
  expect(await unscoped.source.listParticipants('con_1', signal)).toMatchObject([{ addressMissing: 'no_scope' }]);
  const silent = await open({ [detail]: { contract } });
  expect(await silent.source.listParticipants('con_1', signal)).toMatchObject([{ addressMissing: 'no_conversation' }]);
  expect([unscoped.asked(), silent.asked()]).toEqual([['GET /auth/me', `GET ${detail}`], [`GET ${detail}`]]);
});

it('fails if the address cannot be requested, so that it is retried', async () => {
  const dm = { contract: { ...contract, jobDmConversationId: 'dm_1' } };
  const { source } = await open({ [detail]: dm, [member]: [401, {}] });
  expect(await failureOf(source.listParticipants('con_1', signal))).toMatchObject({ code: 'unauthenticated' });
});

it('lists nobody on a contract that names nobody', async () => {
  const { source } = await open({ [detail]: { contract: { ...contract, freelancer: null } } });
  expect(await source.listParticipants('con_1', signal)).toEqual([]);
});

it('takes no answer about another contract', async () => {
  const other = { contract: { ...contract, id: 'con_2', budget: { contractId: 'con_2', state: 'OK' } } };
  const { source } = await open({ [detail]: other });
  for (const asked of [source.listParticipants('con_1', signal), source.readBudget('con_1', signal)]) {
    expect(await failureOf(asked)).toMatchObject({ code: 'invalid' });
  }
});

it.each<[string, object, RegExp]>([
  [
    'an account that nobody has claimed',
    { reason: 'account_claim_required', claimUrl: 'https://app.example/claim/7' },
    /answered 403: No; the account must be claimed first, at https:\/\/app\.example\/claim\/7$/,
  ],
  ['a link that is none', { reason: 'account_claim_required', claimUrl: 'javascript:alert(1)' }, /claimed first$/],
  ['a feature that is off', { featureKey: 'public_api_webhooks' }, /feature public_api_webhooks is off/],
  ['unknown scopes', { unknownScopes: ['mail:read', 7] }, /it knows no scope mail:read$/],
  ['a thousand unknown scopes', { unknownScopes: Array(1000).fill('x:y') }, /it knows no scope (x:y, ){19}x:y$/],
])('says what a person must do first: %s', async (_, details, message) => {
  const { source } = await open({ '/auth/me': [403, { error: 'No', code: 'FORBIDDEN', details }] });
  expect(await failureOf(source.readGrant(signal))).toMatchObject({
    code: 'forbidden',
    message: expect.stringMatching(message),
  });
});

const payment = { id: 'inv_1', amountUsd: '12.50', job: { id: 'job_signs' }, viewerRole: 'EMPLOYER' };

it.each([
  ['https://pay.example/1', 'https://pay.example/1'],
  ['javascript:alert(1)', 'site'],
  ['data:text/html,pay', 'site'],
  [7, 'site'],
  [undefined, 'site'],
])('links a payment only over http or https, else to the site of the marketplace: %s', async (at, shown) => {
  const { source } = await open({ '/payments/pending': { payments: [{ ...payment, paymentUrl: at }] } });
  const [{ url = '', ...found } = { url: '' }] = (await source.listPendingPayments?.(signal)) ?? [];
  expect(found).toEqual({ id: 'inv_1', amountUsd: 12.5, invoiceNumber: null, createdAt: null, jobId: 'job_signs' });
  if (shown === 'site') expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  else expect(url).toBe(shown);
});

it('lists pending payments for its own jobs or no job, if the account has to pay', async () => {
  const payments = [
    payment,
    { ...payment, id: 'of_no_job', job: { id: null } },
    { ...payment, id: 'of_another_job', job: { id: 'job_other' } },
    { ...payment, id: 'gets', viewerRole: 'FREELANCER' },
    { ...payment, id: 'newer', viewerRole: 'SOMETHING_NEW' },
  ];
  const { source } = await open({ '/payments/pending': { payments } });
  const found = (await source.listPendingPayments?.(signal)) ?? [];
  expect(found.map(({ id }) => id)).toEqual(['inv_1', 'of_no_job', 'newer']);
});

it.each([
  [{ payments: [payment], hasMore: true }, 'unavailable'],
  [{ payments: [{ ...payment, id: null }] }, 'invalid'],
  [{}, 'invalid'],
  [[403, { error: 'no scope' }], 'forbidden'],
])('refuses an incomplete list of pending payments: %j', async (answer, code) => {
  const { source } = await open({ '/payments/pending': answer });
  expect(await failureOf(source.listPendingPayments?.(signal))).toMatchObject({ code });
});
