import { checkBinding } from '../../../src/installs/binding-store.ts';
import { decidePlan } from '../../../src/operations/decide-plan.ts';
import { listPlans } from '../../../src/removals/plan-store.ts';
import { hours, type Listing, minutes, toApi } from '../incident.ts';
import { createMemoryTool } from '../memory-tool.ts';
import { storageOf } from '../storage-of.ts';
import { type AlertStories, openIncident } from './alert-story.ts';

const links = { cml1: 'signs' };
const on = (...trainers: string[]) => ({ links: ['cml1'], people: trainers });
const active: Listing = { links, active: { cmc1: on('cmu1') } };

/** What the marketplace says of contracts, links and people. */
export const evidenceStories = {
  async removals_held(openFresh) {
    const { alerting, incident } = await openIncident(openFresh);
    const both = { cmc1: on('cmu1'), cmc2: on('cmu2') };
    await incident.read({ links, active: both });
    await incident.pass(2 * hours);
    const { clock } = incident.engine;
    return {
      alerting,
      find: () => incident.read({ links, ended: both }),
      async end() {
        const by = { actor: 'ops', at: clock.now().toISOString() };
        const [plan] = await listPlans(incident.engine, {});
        return await decidePlan(incident.engine, by, 'reject', plan?.id ?? 0);
      },
    };
  },

  async contract_disputed(openFresh) {
    const { alerting, incident } = await openIncident(openFresh);
    await incident.event('contract.started');
    await incident.event('contract.ended');
    await incident.pass(10 * minutes);
    return {
      alerting,
      find: () => incident.read(active),
      end: () => incident.read({ links, ended: active.active ?? {} }),
    };
  },

  async link_outside(openFresh) {
    const { alerting, incident } = await openIncident(openFresh, { tool: createMemoryTool() });
    return {
      alerting,
      find: () => incident.read({ ...active, provisioningMode: 'CUSTOM_MODE' }),
      end: () => incident.read({ ...active, provisioningMode: 'PARTNER_WEBHOOK' }),
    };
  },

  async address_disagreement(openFresh) {
    const { alerting, incident } = await openIncident(openFresh, { tool: createMemoryTool() });
    const started = (install: string, workEmail: string) =>
      incident.event('contract.started', { contract: `of-${install}`, workEmail }, install);
    await started('acme', 'amara@opentrain.work');
    return {
      alerting,
      find: () => started('globex', 'wrong@opentrain.work'),
      end: () => started('globex', 'amara@opentrain.work'),
    };
  },

  async contract_suspect(openFresh) {
    const { alerting, incident } = await openIncident(openFresh);
    await incident.read(active);
    await incident.pass(minutes);
    await incident.read({ links });
    await incident.pass(24 * hours);
    return { alerting, find: () => incident.read({ links }), end: () => incident.read(active) };
  },

  async evidence_held(openFresh) {
    const { alerting, incident } = await openIncident(openFresh);
    const linked = (count: number): Listing => {
      const ids = Array.from({ length: count }, (_, index) => `cml${index}`);
      return {
        links: Object.fromEntries(ids.map((id) => [id, 'signs'])),
        active: { cmc1: { links: ids, people: ['cmu1'] } },
      };
    };
    return { alerting, find: () => incident.read(linked(12)), end: () => incident.read(linked(10)) };
  },

  async job_unread(openFresh) {
    const { alerting, incident } = await openIncident(openFresh);
    return { alerting, find: () => incident.read({ ...active, unread: ['cml1'] }), end: () => incident.read(active) };
  },

  async marketplace_refuses(openFresh) {
    const { alerting, incident } = await openIncident(openFresh);
    return {
      alerting,
      find: () => incident.read({ ...active, isRefused: true }),
      end: () => incident.read(active),
    };
  },

  async other_customer(openFresh) {
    const { alerting, incident } = await openIncident(openFresh);
    const storage = storageOf(incident.engine.database);
    /** As an install is asked that was bound to the customer of its first reading. */
    const readAs = (organizationId: string) => {
      const api = toApi(active);
      return incident.readFrom({
        ...api,
        async readGrant(signal) {
          const grant = { ...(await api.readGrant(signal)), organizationId };
          await checkBinding(storage, 'acme', grant, new Set(['acme']));
          return grant;
        },
      });
    };
    await readAs('org-1');
    return { alerting, find: () => readAs('org-2'), end: () => readAs('org-1') };
  },

  async clock_drift(openFresh) {
    const { alerting, incident } = await openIncident(openFresh);
    return {
      alerting,
      find: () => incident.read({ ...active, driftMs: 90_000 }),
      end: () => incident.read({ ...active, driftMs: 59_999 }),
    };
  },
} satisfies AlertStories;
