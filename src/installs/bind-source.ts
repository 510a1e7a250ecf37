import type { Grant, Source } from '../sources/source.ts';

/**
 * The source of one install. It asks first whose the token is. With the token of another
 * customer it reads nothing and changes nothing. A token belongs to one grant for good, so one good
 * answer is enough.
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
    readGrant,
    findDeviations: source.findDeviations,
    clockDriftMs: source.clockDriftMs,

    listLinks: async (signal) => (await own(signal)).listLinks(signal),
    readLink: async (id, signal) => (await own(signal)).readLink(id, signal),
    createLink: async (link, signal) => (await own(signal)).createLink(link, signal),
    deleteLink: async (id, signal) => (await own(signal)).deleteLink(id, signal),

    listContracts: async (filter, signal) => (await own(signal)).listContracts(filter, signal),
    listParticipants: async (id, signal) => (await own(signal)).listParticipants(id, signal),
    readBudget: async (id, signal) => (await own(signal)).readBudget(id, signal),
    reportUsage: async (id, entries, signal, notes) => (await own(signal)).reportUsage(id, entries, signal, notes),

    listEndpoints: async (signal) => (await own(signal)).listEndpoints(signal),
    readEndpoint: async (id, signal) => (await own(signal)).readEndpoint(id, signal),
    createEndpoint: async (endpoint, signal) => (await own(signal)).createEndpoint(endpoint, signal),
    updateEndpoint: async (id, changes, signal) => (await own(signal)).updateEndpoint(id, changes, signal),
    deleteEndpoint: async (id, signal) => (await own(signal)).deleteEndpoint(id, signal),
    redeliver: async (id, delivery, signal) => (await own(signal)).redeliver(id, delivery, signal),
  };
}
