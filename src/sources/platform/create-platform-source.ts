import { platformEventTypes } from '../../domain/event.ts';
import { type CallOptions, createCaller } from '../http/caller.ts';
import { compareOpenapi } from '../http/compare-openapi.ts';
import { OpenapiDocument } from '../http/openapi-schema.ts';
import type { Source } from '../source.ts';
import type { TokenCalls } from '../token-record.ts';
import { createContractCalls } from './contract-calls.ts';
import { createEndpointCalls } from './endpoint-calls.ts';
import { createLinkCalls } from './link-calls.ts';
import { neededScopes } from './needed-scopes.ts';
import { InstallAnswer } from './platform-schema.ts';
import { reliedOperations } from './relied-on.ts';
import { remedies } from './remedies.ts';

/**
 * It has every capability but those of an account: a token of one's own, manuals, a feed, the end of a contract, and
 * what waits for money.
 */
export type PlatformSource = Required<Omit<Source, OfAccount>>;
type OfAccount =
  | 'optionalScopes'
  | 'readPublications'
  | 'readUpdates'
  | 'endContract'
  | 'readApproval'
  | 'listPendingPayments'
  | keyof TokenCalls;

/** A platform that the customer has installed, with its token `ot_ptk_…` (spec: platform-api.md). */
export function createPlatformSource(options: CallOptions): PlatformSource {
  const { call, clockDriftMs } = createCaller(options);
  return {
    neededScopes,
    remedies,
    hasSilentEnds: false,
    ...createLinkCalls(call),
    ...createContractCalls(call),
    ...createEndpointCalls(call),

    listEventTypes: async () => platformEventTypes,

    async readGrant(signal) {
      const operation = { path: '/installs/current', purpose: 'read the install' };
      return (await call({ ...operation, answer: InstallAnswer }, signal)).install;
    },

    async findDeviations(signal) {
      const operation = { path: '/openapi.json', purpose: 'read the description of the API' };
      const document = await call({ ...operation, answer: OpenapiDocument, isAnonymous: true }, signal);
      return compareOpenapi(document, reliedOperations);
    },

    clockDriftMs,
  };
}
