import { createDraft, publish, showCapabilities, updateDraft } from './employer-drafts.ts';
import { instructionOperations } from './employer-instructions.ts';
import { checkAttachment, readAttachment, readMember } from './employer-messages.ts';
import {
  type Account,
  covers,
  createAccount,
  createToken,
  type EmployerState,
  endContract,
  hourMs,
  resolveApproval,
} from './employer-state.ts';
import { demand, orNotFound, Refusal } from './refusal.ts';

/** One call, after the token, its scopes, the feature and the claim were checked. */
export interface EmployerCall {
  state: EmployerState;
  account: Account;
  token: TokenRecord;
  /** The values of the placeholders of the path, in their order. */
  ids: string[];
  path: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
  /** The `Idempotency-Key`. */
  key: string | undefined;
  /** Of the client. */
  address: string;
}

export type TokenRecord = ReturnType<typeof createToken>['record'];

export interface EmployerOperation {
  /** Method and path; a placeholder is `{id}`. */
  at: string;
  /** One of them is enough; without any, every live token is. */
  scopes?: string[];
  feature?: string;
  needsClaim?: boolean;
  status?: number;
  /** What is refused before the token is looked at. */
  check?(call: Pick<EmployerCall, 'ids' | 'query'>): void;
  answer(call: EmployerCall): object;
}

const preClaimScopes = ['jobs:read', 'jobs:write', 'proposals:read', 'messages:read', 'payments:read', 'team:read'];
export const supportedScopes = [
  ...preClaimScopes,
  ...['proposals:write', 'messages:write', 'payments:write', 'team:write', 'webhooks:manage'],
  ...['participant_work_email:read', 'instructions:read', 'instructions:write', 'instructions:propose'],
  ...['instructions:review', 'instructions:publish'],
];

export function isLive(state: EmployerState, { status, expiresAt }: TokenRecord): boolean {
  return status === 'active' && (expiresAt === null || Date.parse(expiresAt) > state.now());
}

/** Agent registration (section 4.1). */
export function register(state: EmployerState, host: string, body: Record<string, unknown>): object {
  const { identity_type = 'anonymous' } = body;
  demand(identity_type === 'anonymous', 'only anonymous ones', { error: 'unsupported_identity_type' });
  const account = createAccount(state, { isClaimed: false });
  const { value, record } = createToken(state, account, { name: 'Agent', scopes: preClaimScopes });
  return {
    ...{ identity_type, registration_id: state.nextId('reg'), access_token: value, token_type: 'bearer' },
    ...{ scopes: record.scopes, claim_token: `ot_clm_${state.nextId('second')}` },
    ...{ claim_token_expires_at: state.at(24 * hourMs), claim_endpoint: `${host}/api/agent/identity/claim` },
    token_endpoint: `${host}/api/agent/oauth/token`,
    grant_type: 'urn:opentrain:agent-auth:grant-type:claim',
  };
}

function tokensOf({ state, account }: EmployerCall): TokenRecord[] {
  return [...state.tokens.values()].filter((one) => one.account === account).map(({ record }) => record);
}

function issueToken(call: EmployerCall): object {
  const { state, account, token, body } = call;
  const { name = 'API token', scopes = token.scopes, expiresAt = null } = body;
  demand(typeof name === 'string' && name !== '' && name.length <= 120, 'name is not valid');
  demand(Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string'), 'scopes is no list of strings');
  const unknownScopes = scopes.filter((scope) => !supportedScopes.includes(scope));
  demand(unknownScopes.length === 0, 'there are unknown scopes', { unknownScopes, supportedScopes });
  demand(expiresAt === null || Date.parse(String(expiresAt)) > state.now(), 'expiresAt is not in the future');
  const escalatedScopes = scopes.filter((scope) => !covers(token.scopes, scope));
  const details = { requestedScopes: scopes, grantedScopes: token.scopes, escalatedScopes };
  if (escalatedScopes.length > 0) throw new Refusal('FORBIDDEN', 'the scopes exceed those of the token', details);
  const isFull = tokensOf(call).filter((one) => isLive(state, one)).length >= 25;
  if (isFull) throw new Refusal('CONFLICT', 'the account has 25 active tokens');
  const { value, record } = createToken(state, account, { name, scopes });
  return { token: value, tokenType: 'bearer', metadata: Object.assign(record, { expiresAt }) };
}

function revokeToken(call: EmployerCall): object {
  const [tokenId] = call.ids;
  const found = tokensOf(call).find(({ id }) => id === tokenId);
  const token = orNotFound(found, 'Token', { tokenId });
  return { token: Object.assign(token, { status: 'revoked', revokedAt: call.state.at() }) };
}

const owner = { email: 'olga@second.example', firstName: 'Olga', lastName: 'Owner', fullName: 'Olga Owner' };

function showMe({ account: { id: organizationId }, token: { id, name, scopes } }: EmployerCall): object {
  const ownerUserId = `usr_${organizationId}`;
  return {
    actor: { userId: ownerUserId, ...owner, userType: 'EMPLOYER' },
    token: { id, label: name, scopes, ownerOrganizationId: organizationId },
    account: { kind: 'employer_organization', organizationId, ownerUserId, memberRole: 'OWNER' },
  };
}

function showTeam({ state, account: { id, hasTeams } }: EmployerCall): object {
  if (!hasTeams) throw new Refusal('FORBIDDEN', 'teams are off', { reason: 'teams_not_enabled' });
  const [userId, { fullName: name, email }] = [`usr_${id}`, owner];
  const organization = { id, name: 'Second', ownerUserId: userId, ownerName: name };
  const members = [{ userId, role: 'OWNER', name, email, joinedAt: state.at() }];
  return { team: { organization, members, invites: [] } };
}

function listContracts({ state, account, query }: EmployerCall): object {
  const [jobId, status] = [query.get('jobId'), query.get('status')];
  demand(status === null || ['active', 'ended'].includes(status), 'status is unknown', { field: 'status' });
  const isForeign = jobId !== null && orNotFound(state.find('job', jobId), 'Job').accountId !== account.id;
  if (isForeign) throw new Refusal('FORBIDDEN', 'the job belongs to another account');
  const contracts = state.list('contract', account.id).filter((one) => {
    return (jobId ?? one.jobId) === one.jobId && (status ?? one.status) === one.status;
  });
  return { contracts: contracts.reverse() };
}

function readContract({ state, account, ids: [id] }: EmployerCall): object {
  const contract = state.own('contract', account, id);
  const budget = {
    ...{ contractId: id, paymentType: contract.paymentType, state: 'OK', fundedVolume: 0, fundedAmountUsd: 0 },
    consumed: { seconds: 0, hours: 0, labels: 0, tasks: 0 },
    ...{ consumedVolume: 0, remainingVolume: 0, consumedFraction: 0, activeMilestone: null, lastUsageAt: null },
  };
  return { contract: { ...contract, jobDmConversationId: `dm_${id}`, budget } };
}

function requestEnd(call: EmployerCall): object {
  const { state, account } = call;
  const contract = state.own('contract', account, call.ids[0]);
  const { id: contractId, jobId, status, hasActiveMilestone } = contract;
  const details = { reason: 'contract_ended' };
  if (status === 'ended') throw new Refusal('CONFLICT', 'the contract has ended', details);
  if (!hasActiveMilestone) {
    endContract(state, contract);
    return { ok: true, contractId, status: 'ended' };
  }
  const all = state.list('approval', account.id).map((one) => refresh(call, one));
  const pending = all.find((one) => one.contractId === contractId && one.status === 'pending');
  const made = {
    ...{ type: 'contract_end', status: 'pending', contractId, milestoneId: null, jobId, proposalId: null },
    ...{ approvalUrl: 'https://second.example/approvals', expiresAt: state.at(72 * hourMs), createdAt: state.at() },
    ...{ resolvedAt: null, result: null },
  };
  const approval = pending ?? state.keep('approval', account.id, made);
  return { approval, message: 'A signed-in person must confirm it.' };
}

/** It expires when it is read. */
function refresh({ state, account }: EmployerCall, approval: { status: string; expiresAt: string }) {
  const isOver = approval.status === 'pending' && Date.parse(approval.expiresAt) <= state.now();
  if (isOver) resolveApproval(state, account.id, approval, 'expired');
  return Object(approval);
}

function createTopUp({ state, account, body }: EmployerCall): object {
  const amount = Number(body['amountUsd'] ?? body['amount'] ?? Number.NaN);
  const isNumber = typeof (body['amountUsd'] ?? body['amount']) === 'number';
  demand(isNumber && amount >= 10 && amount <= 10_000, 'amountUsd is 10 to 10000', { field: 'amountUsd' });
  const [amountCents, expiresAt] = [Math.round(amount * 100), state.at(24 * hourMs)];
  const fields = { status: 'PENDING', amountCents, createdAt: state.at(), completedAt: null, expiresAt };
  const topUp = state.keep('topUp', account.id, fields);
  const checkoutUrl = `https://pay.second.example/${topUp.id}`;
  return { topUpId: topUp.id, checkoutUrl, expiresAt, topUp, message: 'A signed-in person must pay it.' };
}

function readInterview({ state, account, ids: [proposalId] }: EmployerCall): object {
  const { accountId, record } = orNotFound(state.find('proposal', proposalId), 'Proposal', { proposalId });
  if (accountId !== account.id) throw new Refusal('FORBIDDEN', 'the job belongs to another account');
  return { interview: orNotFound(record.interview, 'Interview', { proposalId }) };
}

const eventScopes: Record<string, string> = {
  'proposal.received': 'proposals:read',
  'proposal.status_changed': 'proposals:read',
  'message.received': 'messages:read',
  'contract.created': 'payments:read',
  'milestone.status_changed': 'payments:read',
  'payment.pending': 'payments:read',
  'approval.confirmed': 'payments:read',
  'contract.budget_state_changed': 'payments:read',
};

function readFeed({ state, account, token, query }: EmployerCall): object {
  const [cursor, limit] = [query.get('cursor'), query.get('limit') ?? '50'];
  demand(cursor === null || /^\d+$/.test(cursor), 'cursor is not numeric', { field: 'cursor' });
  demand(/^\d+$/.test(limit) && +limit >= 1 && +limit <= 200, 'limit is 1 to 200', { field: 'limit' });
  const after = state.list('event', account.id).filter(({ id, type }) => {
    return BigInt(id) > BigInt(cursor ?? 0) && covers(token.scopes, eventScopes[type] ?? '');
  });
  const events = after.slice(0, Number(limit));
  return { events, nextCursor: events.at(-1)?.id ?? cursor, hasMore: after.length > events.length };
}

function createWebhook({ state, account, token, body: { url, eventTypes } }: EmployerCall): object {
  const isUrl = typeof url === 'string' && url.length <= 2048 && /^(https:\/\/|http:\/\/localhost[:/])/.test(url);
  demand(isUrl && URL.canParse(url), 'url is not valid', { field: 'url' });
  const types = [...new Set(Array.isArray(eventTypes) ? eventTypes.map(String) : [])];
  const isSupported = types.length > 0 && types.every((type) => type in eventScopes);
  demand(isSupported, 'eventTypes is not valid', { supportedEventTypes: Object.keys(eventScopes) });
  const requiredScopes = types.map((type) => eventScopes[type] ?? '');
  requireScopes(token, requiredScopes);
  const isFull = state.list('webhook', account.id).length >= 10;
  if (isFull) throw new Refusal('CONFLICT', 'there are as many webhooks as may be', { limit: 10 });
  const fields = { url, eventTypes: types, status: 'ACTIVE', createdAt: state.at() };
  const webhook = state.keep('webhook', account.id, { ...fields, disabledAt: null, disabledReason: null });
  return { webhook, secret: `whsec_${state.nextId('second')}`, message: 'Keep the secret: it is shown this once.' };
}

function requireScopes({ scopes: grantedScopes }: TokenRecord, requiredScopes: string[]): void {
  if (requiredScopes.every((scope) => covers(grantedScopes, scope))) return;
  throw new Refusal('FORBIDDEN', 'a scope is missing', { requiredScopes, grantedScopes });
}

function webhookOf({ state, account, ids: [webhookId] }: EmployerCall) {
  return state.own('webhook', account, webhookId, { resource: 'webhooks', webhookId });
}

function deleteWebhook(call: EmployerCall): object {
  const webhook = webhookOf(call);
  call.state.remove(webhook);
  return { webhook };
}

const drafts = { scopes: ['jobs:write'], feature: 'public_api_job_drafting' };
const publishes = { scopes: ['jobs:write'], feature: 'public_api_job_publishing' };
const ends = { scopes: ['payments:write'], feature: 'public_api_payments_write', needsClaim: true };
const tops = { scopes: ['payments:write'], feature: 'public_api_credits', needsClaim: true, status: 201 };
const reads = { scopes: ['payments:read'] };
const hooks = { scopes: ['webhooks:manage'], feature: 'public_api_webhooks' };
const feeds = { scopes: ['proposals:read', 'messages:read', 'payments:read'] };
const members = { scopes: ['messages:read'], needsClaim: true };

export const employerOperations: EmployerOperation[] = [
  { at: 'POST /tokens', status: 201, answer: issueToken },
  { at: 'GET /tokens', answer: (call) => ({ tokens: tokensOf(call) }) },
  { at: 'DELETE /tokens/{id}', answer: revokeToken },
  { at: 'GET /auth/me', answer: showMe },
  { at: 'POST /job-drafts', ...drafts, answer: createDraft },
  { at: 'PATCH /job-drafts/{id}', ...drafts, answer: updateDraft },
  { at: 'GET /job-drafts/capabilities', answer: showCapabilities },
  { at: 'POST /jobs/{id}/publish', ...publishes, answer: publish },
  { at: 'GET /proposals/{id}/interview', scopes: ['proposals:read'], answer: readInterview },
  { at: 'GET /contracts', ...reads, answer: listContracts },
  { at: 'GET /contracts/{id}', ...reads, answer: readContract },
  { at: 'POST /contracts/{id}/end', ...ends, answer: requestEnd },
  {
    at: 'GET /approvals/{id}',
    ...reads,
    answer(call) {
      const [approvalId] = call.ids;
      const approval = call.state.own('approval', call.account, approvalId, { resource: 'approvals', approvalId });
      return { approval: refresh(call, approval) };
    },
  },
  { at: 'POST /credits/top-ups', ...tops, answer: createTopUp },
  {
    at: 'GET /credits/top-ups/{id}',
    ...reads,
    answer: ({ state, account, ids: [id] }) => state.own('topUp', account, id),
  },
  {
    at: 'GET /payments/pending',
    ...reads,
    answer: ({ state, account }) => ({ payments: state.list('invoice', account.id).reverse() }),
  },
  { at: 'GET /team', scopes: ['team:read'], feature: 'public_api_team', answer: showTeam },
  { at: 'POST /webhooks', ...hooks, status: 201, answer: createWebhook },
  { at: 'GET /webhooks', ...hooks, answer: ({ state, account }) => ({ webhooks: state.list('webhook', account.id) }) },
  { at: 'GET /webhooks/{id}', ...hooks, answer: (call) => ({ webhook: webhookOf(call) }) },
  { at: 'DELETE /webhooks/{id}', ...hooks, answer: deleteWebhook },
  { at: 'GET /updates', ...feeds, answer: readFeed },
  {
    at: 'GET /messages/{id}/attachments/{id}',
    scopes: ['messages:read'],
    check: checkAttachment,
    answer: readAttachment,
  },
  { at: 'GET /messaging/management/messaging_management.members.get', ...members, answer: readMember },
  ...instructionOperations,
];
