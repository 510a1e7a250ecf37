import { AppError } from '../../domain/errors.ts';
import { type CallOptions, createCaller } from '../http/caller.ts';
import { compareOpenapi } from '../http/compare-openapi.ts';
import { OpenapiDocument } from '../http/openapi-schema.ts';
import type { JobLinks } from '../job-links.ts';
import type { Grant, Source } from '../source.ts';
import { createContractCalls } from './contract-calls.ts';
import { Account } from './employer-schema.ts';
import { createEndCalls } from './end-calls.ts';
import { eventTypesOf } from './event-scopes.ts';
import { createInstructionCalls } from './instruction-calls.ts';
import { neededScopes, optionalScopes } from './needed-scopes.ts';
import { createListPendingPayments } from './payment-calls.ts';
import { createReadUpdates } from './read-updates.ts';
import { reliedOperations } from './relied-on.ts';
import { remedies } from './remedies.ts';
import { createTokenCalls } from './token-calls.ts';
import { createWebhookCalls } from './webhook-calls.ts';
import { createFindWorkEmail } from './work-email.ts';

export interface EmployerOptions extends CallOptions {
  links: JobLinks;
}

/** An employer's own account, with a personal token `ot_pat_…` (spec: employer-api.md). */
export function createEmployerSource({ links, ...options }: EmployerOptions): Source {
  const { call, clockDriftMs } = createCaller(options);
  let scopes: readonly string[] | undefined;

  async function listLinks(signal: AbortSignal) {
    signal.throwIfAborted();
    return await links.list();
  }

  async function readGrant(signal: AbortSignal) {
    const operation = { path: '/auth/me', purpose: 'read the account', answer: Account };
    const account = await call(operation, signal);
    scopes = account.token.scopes;
    return toGrant(account);
  }

  return {
    neededScopes,
    optionalScopes,
    remedies,
    hasSilentEnds: true,
    ...createContractCalls(
      call,
      listLinks,
      createFindWorkEmail(call, () => scopes),
    ),
    ...createWebhookCalls(call),
    ...createInstructionCalls(call),
    ...createEndCalls(call),
    ...createTokenCalls(call, options.clock),
    readUpdates: createReadUpdates(call),
    listPendingPayments: createListPendingPayments(call, { baseUrl: options.baseUrl, listLinks }),

    async listEventTypes(signal) {
      if (scopes === undefined) await readGrant(signal);
      return eventTypesOf(scopes ?? []);
    },

    readGrant,
    listLinks,

    async readLink(linkId, signal) {
      const link = (await listLinks(signal)).find(({ id }) => id === linkId);
      if (link === undefined) throw new AppError('not_found', `There is no link ${linkId}`);
      return link;
    },

    createLink: (wanted) => links.create(wanted),
    deleteLink: (linkId) => links.remove(linkId),

    async findDeviations(signal) {
      const operation = { path: '/openapi.json', purpose: 'read the description of the API' };
      const document = await call({ ...operation, answer: OpenapiDocument, isAnonymous: true }, signal);
      return compareOpenapi(document, reliedOperations);
    },

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
