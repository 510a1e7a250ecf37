import type { Grant, Source } from '../sources/source.ts';

/**
 * The source of one install. It asks first whose the token is. With the token of another customer it
 * reads nothing and changes nothing. A token belongs to one grant for good, so one good answer is enough.
 *
 * @param check throws if the grant is another customer's
 */
export function bindSource(source: Source, check: (grant: Grant) => Promise<void>): Source {
  let isKnown = false;

  async function readGrant(signal: AbortSignal): Promise<Grant> {
    const grant = await source.readGrant(signal);
    await check(grant);
    isKnown = true;
    return grant;
  }

  async function own(signal: AbortSignal): Promise<Source> {
    if (!isKnown) await readGrant(signal);
    return source;
  }

  return {
    neededScopes: source.neededScopes,
    remedies: source.remedies,
    hasSilentEnds: source.hasSilentEnds,
    readGrant,
    findDeviations: source.findDeviations,
    clockDriftMs: source.clockDriftMs,

    listLinks: async (signal) => (await own(signal)).listLinks(signal),
    readLink: async (id, signal) => (await own(signal)).readLink(id, signal),
    listContracts: async (filter, signal) => (await own(signal)).listContracts(filter, signal),
    listParticipants: async (id, signal) => (await own(signal)).listParticipants(id, signal),
    readBudget: async (id, signal) => (await own(signal)).readBudget(id, signal),

    listEventTypes: async (signal) => (await own(signal)).listEventTypes(signal),
    listEndpoints: async (signal) => (await own(signal)).listEndpoints(signal),
    readEndpoint: async (id, signal) => (await own(signal)).readEndpoint(id, signal),
    createEndpoint: async (endpoint, signal) => (await own(signal)).createEndpoint(endpoint, signal),
    deleteEndpoint: async (id, signal) => (await own(signal)).deleteEndpoint(id, signal),
    ...bindCapabilities(source, own),
    ...bindTokenCalls(source, own),
  };
}

/** What the source cannot do, it cannot do here either. */
function bindCapabilities(source: Source, own: (signal: AbortSignal) => Promise<Source>): Partial<Source> {
  const { optionalScopes, createLink, deleteLink, reportUsage, updateEndpoint, redeliver } = source;
  const { readPublications, readUpdates, endContract, readApproval, listPendingPayments } = source;
  return {
    ...(optionalScopes && { optionalScopes }),
    ...(createLink && {
      createLink: (link, signal) => own(signal).then(() => createLink(link, signal)),
    }),
    ...(deleteLink && {
      deleteLink: (id, signal) => own(signal).then(() => deleteLink(id, signal)),
    }),
    ...(reportUsage && {
      reportUsage: (id, entries, signal, notes) => own(signal).then(() => reportUsage(id, entries, signal, notes)),
    }),
    ...(updateEndpoint && {
      updateEndpoint: (id, changes, signal) => own(signal).then(() => updateEndpoint(id, changes, signal)),
    }),
    ...(readPublications && {
      readPublications: (jobIds, signal) => own(signal).then(() => readPublications(jobIds, signal)),
    }),
    ...(readUpdates && {
      readUpdates: (cursor, signal) => own(signal).then(() => readUpdates(cursor, signal)),
    }),
    ...(endContract && {
      endContract: (id, signal) => own(signal).then(() => endContract(id, signal)),
    }),
    ...(readApproval && {
      readApproval: (id, signal) => own(signal).then(() => readApproval(id, signal)),
    }),
    ...(listPendingPayments && {
      listPendingPayments: (signal) => own(signal).then(() => listPendingPayments(signal)),
    }),
    ...(redeliver && {
      redeliver: (id, delivery, signal) => own(signal).then(() => redeliver(id, delivery, signal)),
    }),
  };
}

function bindTokenCalls(source: Source, own: (signal: AbortSignal) => Promise<Source>): Partial<Source> {
  const { listTokens, createToken, revokeToken } = source;
  return {
    ...(listTokens && {
      listTokens: (signal) => own(signal).then(() => listTokens(signal)),
    }),
    ...(createToken && {
      createToken: (token, signal) => own(signal).then(() => createToken(token, signal)),
    }),
    ...(revokeToken && {
      revokeToken: (id, signal) => own(signal).then(() => revokeToken(id, signal)),
    }),
  };
}
