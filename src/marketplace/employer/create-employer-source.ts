import { AppError } from '../../domain/errors.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { anyAnswer } from '../../lib/rest-client.ts';
import { type Call, type CallOptions, createCaller, listWhole, pathOf } from '../http/caller.ts';
import { findDeviations } from '../http/compare-openapi.ts';
import type { PendingPayment, TokenRecord } from '../record-schema.ts';
import type { EndApproval, Grant, JobLinks, Link, Remedies, Source, UpdatesPage } from '../source.ts';
import { listContracts, listParticipants, readBudget, readPublications } from './employer-reads.ts';
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
import { allNeeded, eventTypesOf, neededScopes, optionalScopes, reliedOperations } from './relied-on.ts';

/** An employer's own account, with a personal token `ot_pat_…` (spec: employer-api.md). */
export function createEmployerSource({ links, ...options }: CallOptions & { links: JobLinks }): Source {
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
    async readLink(linkId, signal) {
      const link = (await listLinks(signal)).find(({ id }) => id === linkId);
      if (link === undefined) throw new AppError('not_found', `There is no link ${linkId}`);
      return link;
    },
    createLink: (wanted) => links.create(wanted),
    deleteLink: (linkId) => links.remove(linkId),

    listContracts: async (filter, signal) => await listContracts(call, await listLinks(signal), filter, signal),
    listParticipants: (contractId, signal) => listParticipants(call, contractId, scopes, signal),
    readBudget: (contractId, signal) => readBudget(call, contractId, signal),
    readPublications: (jobIds, signal) => readPublications(call, jobIds, signal),

    /** Spec: part A sections 2.7 and 4.7. */
    async listPendingPayments(signal) {
      const operation = { path: '/payments/pending', purpose: 'list what waits for money', answer: PaymentPage };
      const payments = await listWhole(call, { ...operation, signal }, ({ id }) => id);
      return toPending(payments, await listLinks(signal), new URL(baseUrl).origin);
    },

    /** The feed (spec: part A section 4.10). */
    async readUpdates(cursor, signal) {
      const query = { limit: String(updatesLimit), cursor: cursor ?? undefined };
      const operation = { path: '/updates', query, purpose: 'read what has happened', answer: UpdatePage };
      return toUpdates(cursor, await call({ ...operation, signal }));
    },

    async listEventTypes(signal) {
      if (scopes === undefined) await readGrant(signal);
      return eventTypesOf(scopes ?? []);
    },
    ...webhookCalls(call),
    ...endCalls(call),
    ...tokenCalls(call, clock),
    findDeviations: (signal) => findDeviations(call, reliedOperations, signal),
    clockDriftMs,
  };
}

/** Spec: part A section 4.9. A webhook cannot be changed, and cannot resend. */
function webhookCalls(call: Call) {
  return {
    async listEndpoints(signal) {
      const operation = { path: '/webhooks', purpose: 'list the webhooks', answer: WebhookPage, signal };
      return await listWhole(call, operation, ({ id }) => id);
    },
    readEndpoint: async (id, signal) =>
      await call({ path: pathOf`/webhooks/${id}`, purpose: 'read a webhook', answer: WebhookAnswer, signal }),
    async createEndpoint(body, signal) {
      const operation = { path: '/webhooks', body, purpose: 'create a webhook', answer: CreatedWebhookAnswer };
      return await call({ ...operation, method: 'POST', isSentOnce: true, signal });
    },
    async deleteEndpoint(id, signal) {
      const operation = { path: pathOf`/webhooks/${id}`, purpose: 'delete a webhook', answer: anyAnswer };
      const doneBefore = { code: 'not_found', answer: () => undefined } as const;
      await call({ ...operation, method: 'DELETE', doneBefore, signal });
    },
  } satisfies Partial<Source>;
}

/** Spec: part A sections 2.6 and 4.6. */
function endCalls(call: Call) {
  return {
    async endContract(contractId, signal) {
      const isAbout = (approval: Approval | undefined) => approval === undefined || approval.contractId === contractId;
      const operation = { path: pathOf`/contracts/${contractId}/end`, purpose: 'end a contract', answer: EndAnswer };
      try {
        const approval = await call({ ...operation, method: 'POST', isAbout, signal });
        return approval === undefined ? null : toApproval(approval);
      } catch (error) {
        // The only possible conflict is that the contract has ended.
        if (error instanceof AppError && error.code === 'conflict') return null;
        throw error;
      }
    },
    async readApproval(approvalId, signal) {
      const isAbout = ({ id }: Approval) => id === approvalId;
      const operation = { path: pathOf`/approvals/${approvalId}`, purpose: 'read an approval', answer: ApprovalAnswer };
      return toApproval(await call({ ...operation, isAbout, signal }));
    },
  } satisfies Partial<Source>;
}

/** Spec: part A section 4.2. These calls need no scope, and no claimed account. */
function tokenCalls(call: Call, clock: Clock) {
  return {
    async listTokens(signal) {
      const operation = { path: '/tokens', purpose: 'list the tokens', answer: TokenPage, signal };
      return (await listWhole(call, operation, ({ id }) => id)).map((token) => toRecord(token, clock.now()));
    },
    async createToken({ expiresAt, ...needed }, signal) {
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
    },
    async revokeToken(tokenId, signal) {
      const operation = { path: pathOf`/tokens/${tokenId}`, purpose: 'revoke a token', answer: RevokedTokenAnswer };
      const token = await call({ ...operation, method: 'DELETE', signal });
      if (token.id === tokenId && token.status === 'revoked') return;
      throw new AppError('invalid', `Could not ${operation.purpose}: the answer does not say that it is revoked`);
    },
  } satisfies Partial<Source>;
}

/** The account itself, which cannot be revoked: a refused token is no evidence against it. */
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

function toApproval({ id, status, approvalUrl: url = null, expiresAt }: Approval): EndApproval {
  return { id, status, url, expiresAt };
}

/** Leaves out payments for other jobs of the account, which belong to other installs, or to none. */
function toPending(payments: readonly Payment[], links: readonly Link[], site: string): PendingPayment[] {
  const jobs = new Set([null, ...links.map(({ jobId }) => jobId)]);
  // If the account receives the payment, nobody there has anything to do.
  const toPay = payments.filter(({ viewerRole }) => viewerRole !== 'FREELANCER');
  return toPay.flatMap(({ id, amountUsd, invoiceNumber, createdAt, job, paymentUrl }) => {
    const jobId = job?.id ?? null;
    const url = paymentUrl == null ? site : new URL(paymentUrl).href;
    return jobs.has(jobId) ? [{ id, amountUsd, invoiceNumber, createdAt, jobId, url }] : [];
  });
}

/** The marketplace's maximum. */
const updatesLimit = 200;

function toUpdates(cursor: string | null, { records: events, nextCursor = null, hasMore }: UpdatePage): UpdatesPage {
  // Never beyond the last event that came, because a truncated page, even an empty one, may name a later cursor.
  // An empty page is trusted only if more follows: the token may not read its events.
  const isEmpty = events.length === 0 && hasMore !== true;
  const reached = isEmpty ? cursor : (events.at(-1)?.id ?? nextCursor ?? cursor);
  const isMore = hasMore === true || (nextCursor !== null && nextCursor !== reached);
  return {
    updates: events.map(({ createdAt, body }) => ({ createdAt, body })),
    cursor: reached,
    // The same page again would bring nothing new.
    hasMore: isMore && reached !== cursor,
  };
}

/** An unknown status means revoked. */
function toRecord({ status, ...token }: Token, now: Date): TokenRecord {
  const { expiresAt } = token;
  const hasExpired = status === 'expired' || (expiresAt !== null && Date.parse(expiresAt) <= now.getTime());
  if (status !== 'revoked' && hasExpired) return { ...token, status: 'expired' };
  return { ...token, status: status === 'active' ? 'active' : 'revoked' };
}

/** The account and its tokens belong to the operator. */
const remedies: Remedies = {
  tokenRefused: (install) =>
    `Make a new token in the settings of your account at the marketplace, then run gangway connect ${install} --employer (or put it into installs.${install}.token if the install is in the configuration). The old one expired or was revoked, perhaps by a rotation after the backup that the database was restored from`,
  accessRefused:
    'Check the scopes of the token and the rights of your account at the marketplace: the message says which is missing',
  unreachable: 'Check marketplace.employerBaseUrl, and that this machine can reach it',
  scopeMissing: `Make a token with ${allNeeded} in the settings of your account at the marketplace`,
  grantInactive: 'Check whether your account at the marketplace is still open',
  addressesUnshared:
    'Give the token the scopes messages:read and participant_work_email:read. Trainers get a work email from the marketplace after their hire',
};
