import { AppError } from '../../domain/errors.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { anyAnswer } from '../../lib/rest-client.ts';
import type { CreatedEndpoint, Endpoint, NewEndpoint } from '../endpoint.ts';
import { type Call, type CallOptions, createCaller, pathOf } from '../http/caller.ts';
import { findDeviations } from '../http/compare-openapi.ts';
import { listWhole } from '../http/read-pages.ts';
import type { JobLinks } from '../job-links.ts';
import type { PendingPayment } from '../pending-payment.ts';
import type { EndApproval, Grant, Link, Source, UpdatesPage } from '../source.ts';
import type { CreatedToken, NewToken, TokenRecord } from '../token-record.ts';
import { listContracts, listParticipants, readBudget } from './contract-calls.ts';
import {
  Account,
  type Approval,
  ApprovalAnswer,
  CreatedTokenAnswer,
  CreatedWebhookAnswer,
  EndAnswer,
  type Payment,
  PaymentPage,
  RevokedTokenAnswer,
  type Token,
  TokenPage,
  UpdatePage,
  WebhookAnswer,
  WebhookPage,
} from './employer-schema.ts';
import { eventTypesOf, neededScopes, optionalScopes } from './needed-scopes.ts';
import { readPublications } from './read-publications.ts';
import { reliedOperations } from './relied-on.ts';
import { remedies } from './remedies.ts';

export interface EmployerOptions extends CallOptions {
  links: JobLinks;
}

/** An employer's own account, with a personal token `ot_pat_…` (spec: employer-api.md). */
export function createEmployerSource({ links, ...options }: EmployerOptions): Source {
  const { clock = systemClock, baseUrl } = options;
  const { call, clockDriftMs } = createCaller(options);
  let scopes: readonly string[] | undefined;

  async function listLinks(signal: AbortSignal) {
    signal.throwIfAborted();
    return await links.list();
  }

  async function readGrant(signal: AbortSignal) {
    const account = await call({ path: '/auth/me', purpose: 'read the account', answer: Account, signal });
    scopes = account.token.scopes;
    return toGrant(account);
  }

  return {
    neededScopes,
    optionalScopes,
    remedies,
    hasSilentEnds: true,
    readGrant,

    listLinks,
    readLink: async (linkId, signal) => findLink(await listLinks(signal), linkId),
    createLink: (wanted) => links.create(wanted),
    deleteLink: (linkId) => links.remove(linkId),

    listContracts: async (filter, signal) => await listContracts(call, await listLinks(signal), filter, signal),
    listParticipants: (contractId, signal) => listParticipants(call, contractId, scopes, signal),
    readBudget: (contractId, signal) => readBudget(call, contractId, signal),
    endContract: (contractId, signal) => endContract(call, contractId, signal),
    readApproval: (approvalId, signal) => readApproval(call, approvalId, signal),
    readPublications: (jobIds, signal) => readPublications(call, jobIds, signal),
    listPendingPayments: async (signal) => {
      const payments = await listPayments(call, signal);
      return toPending(payments, await listLinks(signal), new URL(baseUrl).origin);
    },

    async listEventTypes(signal) {
      if (scopes === undefined) await readGrant(signal);
      return eventTypesOf(scopes ?? []);
    },
    readUpdates: (cursor, signal) => readUpdates(call, cursor, signal),
    listEndpoints: (signal) => listEndpoints(call, signal),
    readEndpoint: (id, signal) => readEndpoint(call, id, signal),
    createEndpoint: (wanted, signal) => createEndpoint(call, wanted, signal),
    deleteEndpoint: (id, signal) => deleteEndpoint(call, id, signal),

    listTokens: (signal) => listTokens(call, clock, signal),
    createToken: (wanted, signal) => createToken(call, clock, wanted, signal),
    revokeToken: (tokenId, signal) => revokeToken(call, tokenId, signal),

    findDeviations: (signal) => findDeviations(call, reliedOperations, signal),
    clockDriftMs,
  };
}

/** The account is the grant: it cannot be taken back, and one of its tokens that is refused is no evidence. */
function toGrant({ actor, token, account }: Account): Grant {
  const { organizationId = null, ownerUserId = null } = account;
  return {
    id: organizationId ?? ownerUserId ?? actor.userId,
    status: 'ACTIVE',
    organizationId,
    isShared: true,
    token: { id: token.id, name: token.label ?? undefined, scopes: token.scopes },
  };
}

function findLink(links: readonly Link[], linkId: string): Link {
  const link = links.find(({ id }) => id === linkId);
  if (link === undefined) throw new AppError('not_found', `There is no link ${linkId}`);
  return link;
}

// --- The end of a contract, and the approval that a person confirms (spec: part A sections 2.6 and 4.6)

async function endContract(call: Call, contractId: string, signal: AbortSignal): Promise<EndApproval | null> {
  const isAbout = (approval: Approval | undefined) => approval === undefined || approval.contractId === contractId;
  const operation = { path: pathOf`/contracts/${contractId}/end`, purpose: 'end a contract', answer: EndAnswer };
  try {
    const approval = await call({ ...operation, method: 'POST', isAbout, signal });
    return approval === undefined ? null : toApproval(approval);
  } catch (error) {
    // The only conflict that there is: the contract has ended.
    if (error instanceof AppError && error.code === 'conflict') return null;
    throw error;
  }
}

async function readApproval(call: Call, approvalId: string, signal: AbortSignal): Promise<EndApproval> {
  const isAbout = ({ id }: Approval) => id === approvalId;
  const operation = { path: pathOf`/approvals/${approvalId}`, purpose: 'read an approval', answer: ApprovalAnswer };
  return toApproval(await call({ ...operation, isAbout, signal }));
}

function toApproval({ id, status, approvalUrl: url = null, expiresAt }: Approval): EndApproval {
  return { id, status, url, expiresAt };
}

// --- What waits for money (spec: part A sections 2.7 and 4.7)

async function listPayments(call: Call, signal: AbortSignal): Promise<Payment[]> {
  const operation = { path: '/payments/pending', purpose: 'list what waits for money', answer: PaymentPage };
  return await listWhole(call, { ...operation, signal }, ({ id }) => id);
}

/** The other jobs of the account are the business of other installs, or of none. */
function toPending(payments: readonly Payment[], links: readonly Link[], site: string): PendingPayment[] {
  const jobs = new Set([null, ...links.map(({ jobId }) => jobId)]);
  return payments.filter(isToPay).flatMap(({ id, amountUsd, invoiceNumber, createdAt, job, paymentUrl }) => {
    const jobId = job?.id ?? null;
    const url = paymentUrl == null ? site : new URL(paymentUrl).href;
    return jobs.has(jobId) ? [{ id, amountUsd, invoiceNumber, createdAt, jobId, url }] : [];
  });
}

/** Where the account is the one that is paid, no person of it has anything to do. */
function isToPay({ viewerRole }: Payment): boolean {
  return viewerRole !== 'FREELANCER';
}

// --- The feed (spec: part A section 4.10)

/** As many as the marketplace gives at once. */
const updatesLimit = 200;

async function readUpdates(call: Call, cursor: string | null, signal: AbortSignal): Promise<UpdatesPage> {
  const query = { limit: String(updatesLimit), cursor: cursor ?? undefined };
  const operation = { path: '/updates', query, purpose: 'read what has happened', answer: UpdatePage };
  const { records: events, nextCursor = null, hasMore } = await call({ ...operation, signal });
  // Never beyond the last event that came: a page that was cut off, even to nothing, may name a later cursor.
  // Only where more follows may a page be empty because the token may not read its events.
  const isEmpty = events.length === 0 && hasMore !== true;
  const reached = isEmpty ? cursor : (events.at(-1)?.id ?? nextCursor ?? cursor);
  const isMore = hasMore === true || (nextCursor !== null && nextCursor !== reached);
  return {
    updates: events.map(({ createdAt, body }) => ({ createdAt, body })),
    cursor: reached,
    // The same page again would bring nothing.
    hasMore: isMore && reached !== cursor,
  };
}

// --- Webhooks (spec: part A section 4.9). One cannot be changed, and sends nothing again.

const toWebhookPath = (endpointId: string) => pathOf`/webhooks/${endpointId}`;

async function listEndpoints(call: Call, signal: AbortSignal): Promise<Endpoint[]> {
  const operation = { path: '/webhooks', purpose: 'list the webhooks', answer: WebhookPage, signal };
  return await listWhole(call, operation, ({ id }) => id);
}

async function readEndpoint(call: Call, endpointId: string, signal: AbortSignal): Promise<Endpoint> {
  return await call({ path: toWebhookPath(endpointId), purpose: 'read a webhook', answer: WebhookAnswer, signal });
}

async function createEndpoint(call: Call, wanted: NewEndpoint, signal: AbortSignal): Promise<CreatedEndpoint> {
  const operation = { path: '/webhooks', body: wanted, purpose: 'create a webhook', answer: CreatedWebhookAnswer };
  return await call({ ...operation, method: 'POST', isSentOnce: true, signal });
}

async function deleteEndpoint(call: Call, endpointId: string, signal: AbortSignal): Promise<void> {
  await call({
    method: 'DELETE',
    path: toWebhookPath(endpointId),
    purpose: 'delete a webhook',
    answer: anyAnswer,
    doneBefore: { code: 'not_found', answer: () => undefined },
    signal,
  });
}

// --- Tokens (spec: part A section 4.2). They need no scope, and no claim.

async function listTokens(call: Call, clock: Clock, signal: AbortSignal): Promise<TokenRecord[]> {
  const operation = { path: '/tokens', purpose: 'list the tokens', answer: TokenPage, signal };
  return (await listWhole(call, operation, ({ id }) => id)).map((token) => toRecord(token, clock.now()));
}

async function createToken(call: Call, clock: Clock, wanted: NewToken, signal: AbortSignal): Promise<CreatedToken> {
  const { expiresAt, ...needed } = wanted;
  const { token: secret, metadata } = await call({
    method: 'POST',
    path: '/tokens',
    body: { ...needed, ...(expiresAt !== null && { expiresAt }) },
    isSentOnce: true,
    purpose: 'create a token',
    answer: CreatedTokenAnswer,
    signal,
  });
  return { token: toRecord(metadata, clock.now()), secret };
}

async function revokeToken(call: Call, tokenId: string, signal: AbortSignal): Promise<void> {
  const operation = { path: pathOf`/tokens/${tokenId}`, purpose: 'revoke a token', answer: RevokedTokenAnswer };
  const token = await call({ ...operation, method: 'DELETE', signal });
  if (token.id === tokenId && token.status === 'revoked') return;
  throw new AppError('invalid', `Could not ${operation.purpose}: the answer does not say that it is revoked`);
}

/** What is neither active nor expired does not work (any more), whatever a newer word says. */
function toRecord({ status, ...token }: Token, now: Date): TokenRecord {
  const { expiresAt } = token;
  const hasExpired = status === 'expired' || (expiresAt !== null && Date.parse(expiresAt) <= now.getTime());
  const works = status === 'active' ? 'active' : 'revoked';
  return { ...token, status: status !== 'revoked' && hasExpired ? 'expired' : works };
}
