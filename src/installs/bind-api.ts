import type { PlatformApi } from '../marketplace/platform-api.ts';
import type { Grant } from '../marketplace/platform-schema.ts';

/**
 * The marketplace API of one install. It asks first whose the token is. With the token of another
 * customer it reads nothing and changes nothing. A token belongs to one grant for good, so one good
 * answer is enough.
 *
 * @param check throws if the grant is another customer's
 */
export function bindApi(api: PlatformApi, check: (grant: Grant) => Promise<void>): PlatformApi {
  let isKnown = false;

  async function getInstall(signal: AbortSignal): Promise<Grant> {
    const grant = await api.getInstall(signal);
    await check(grant);
    isKnown = true;
    return grant;
  }

  async function own(signal: AbortSignal): Promise<PlatformApi> {
    if (!isKnown) await getInstall(signal);
    return api;
  }

  return {
    getInstall,
    readOpenapi: api.readOpenapi,
    clockDriftMs: api.clockDriftMs,

    listProjectLinks: async (signal) => (await own(signal)).listProjectLinks(signal),
    getProjectLink: async (id, signal) => (await own(signal)).getProjectLink(id, signal),
    createProjectLink: async (link, signal) => (await own(signal)).createProjectLink(link, signal),
    deleteProjectLink: async (id, signal) => (await own(signal)).deleteProjectLink(id, signal),

    listContracts: async (filter, signal) => (await own(signal)).listContracts(filter, signal),
    listParticipants: async (id, signal) => (await own(signal)).listParticipants(id, signal),
    readBudget: async (id, signal) => (await own(signal)).readBudget(id, signal),
    reportUsage: async (id, entries, signal, notes) => (await own(signal)).reportUsage(id, entries, signal, notes),

    listWebhookEndpoints: async (signal) => (await own(signal)).listWebhookEndpoints(signal),
    getWebhookEndpoint: async (id, signal) => (await own(signal)).getWebhookEndpoint(id, signal),
    createWebhookEndpoint: async (endpoint, signal) => (await own(signal)).createWebhookEndpoint(endpoint, signal),
    updateWebhookEndpoint: async (id, changes, signal) =>
      (await own(signal)).updateWebhookEndpoint(id, changes, signal),
    deleteWebhookEndpoint: async (id, signal) => (await own(signal)).deleteWebhookEndpoint(id, signal),
    redeliver: async (id, delivery, signal) => (await own(signal)).redeliver(id, delivery, signal),
  };
}
