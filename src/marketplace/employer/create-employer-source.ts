import { AppError } from '../../domain/errors.ts';
import { toId, toInstantText } from '../../domain/marketplace-text.ts';
import { systemClock } from '../../lib/clock.ts';
import { type Client, type ClientOptions, createClient } from '../client.ts';
import { compareOpenapi } from '../compare-openapi.ts';
import { account, openapi, type Token, tokens } from '../contract/account.ts';
import { type Payment, payments } from '../contract/contracts.ts';
import { updates, webhooks } from '../contract/events.ts';
import type { Answer } from '../contract/operation.ts';
import { ofEmployer } from '../relied-on.ts';
import type { Grant, JobLinks, Link, Remedies, Source, UpdatesPage } from '../source.ts';
import type { PendingPayment, TokenRecord } from '../source-records.ts';
import { listContracts, listParticipants, readBudget } from './employer-reads.ts';
import { allNeeded, eventTypesOf, neededScopes, optionalScopes } from './employer-scopes.ts';
import { readPublications } from './read-publications.ts';

/** An employer's own account, with a personal token `ot_pat_…` (spec: employer-api.md). */
export function createEmployerSource({ links, ...options }: ClientOptions & { links: JobLinks }): Source {
  const { clock = systemClock, baseUrl } = options;
  const client = createClient(options);
  const { call, listWhole, clockDriftMs } = client;
  let scopes: readonly string[] | undefined;

  async function listLinks(signal: AbortSignal) {
    signal.throwIfAborted();
    return await links.list();
  }

  async function readGrant(signal: AbortSignal) {
    const mine = await call(account.me, {}, signal);
    scopes = mine.token.scopes;
    return toGrant(mine);
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

    listContracts: async (filter, signal) => await listContracts(client, await listLinks(signal), filter, signal),
    listParticipants: (contractId, signal) => listParticipants(client, contractId, scopes, signal),
    readBudget: (contractId, signal) => readBudget(client, contractId, signal),
    readPublications: (jobIds, signal) => readPublications(client, jobIds, signal),

    async listPendingPayments(signal) {
      const pending = await listWhole(payments.pending, {}, signal);
      return toPending(pending, await listLinks(signal), new URL(baseUrl).origin);
    },

    async readUpdates(cursor, signal) {
      const input = { limit: updatesLimit, cursor: cursor ?? undefined };
      return toUpdates(cursor, await call(updates.list, input, signal));
    },

    async listEventTypes(signal) {
      if (scopes === undefined) await readGrant(signal);
      return eventTypesOf(scopes ?? []);
    },
    ...webhookCalls(client),
    call,
    listWhole,
    async listTokens(signal) {
      const all = await listWhole(tokens.list, {}, signal);
      return all.map((token) => toRecord(token, clock.now()));
    },
    findDeviations: async (signal) => compareOpenapi(await call(openapi.get, {}, signal), ofEmployer),
    clockDriftMs,
  };
}

/** A webhook cannot be changed, and cannot resend. */
function webhookCalls({ call, listWhole }: Client) {
  return {
    listEndpoints: async (signal) => await listWhole(webhooks.list, {}, signal),
    readEndpoint: async (webhookId, signal) => (await call(webhooks.get, { webhookId }, signal)).webhook,
    async createEndpoint(wanted, signal) {
      const { webhook: endpoint, secret } = await call(webhooks.create, { ...wanted }, signal);
      return { endpoint, secret };
    },
    async deleteEndpoint(webhookId, signal) {
      const doneBefore = { code: 'not_found', answer: () => undefined } as const;
      await call(webhooks.delete, { webhookId }, signal, { doneBefore });
    },
  } satisfies Partial<Source>;
}

/** The account itself, which cannot be revoked: a refused token is no evidence against it. */
function toGrant({
  actor,
  token,
  account: { organizationId = null, ownerUserId = null },
}: Answer<typeof account.me>): Grant {
  return {
    id: organizationId ?? ownerUserId ?? actor.userId,
    status: 'ACTIVE',
    organizationId,
    isShared: true,
    token: { id: token.id, name: token.label ?? undefined, scopes: token.scopes },
  };
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

type UpdatesAnswer = Answer<typeof updates.list>;

function toUpdates(cursor: string | null, { events, nextCursor = null, hasMore }: UpdatesAnswer): UpdatesPage {
  // Never beyond the last event that came, because a truncated page, even an empty one, may name a later cursor.
  // An empty page is trusted only if more follows: the token may not read its events.
  const isEmpty = events.length === 0 && hasMore !== true;
  const { id: last } = Object(events.at(-1)) as { id?: unknown };
  const reached = isEmpty ? cursor : (toId(last) ?? nextCursor ?? cursor);
  const isMore = hasMore === true || (nextCursor !== null && nextCursor !== reached);
  return {
    updates: events.map((event) => ({ createdAt: createdAtOf(event), body: JSON.stringify(event) })),
    cursor: reached,
    // The same page again would bring nothing new.
    hasMore: isMore && reached !== cursor,
  };
}

function createdAtOf(event: unknown): string | null {
  const { createdAt } = Object(event) as { createdAt?: unknown };
  return toInstantText(createdAt) ?? null;
}

/** An unknown status means revoked. */
function toRecord({ id, name, scopes, status, createdAt, lastUsedAt, expiresAt }: Token, now: Date): TokenRecord {
  const token = { id, name, scopes, createdAt, lastUsedAt, expiresAt };
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
