import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { deliverDue, raiseEvent } from './deliveries.ts';
import {
  type ContractRecord,
  createMarketState,
  type InstallRecord,
  type MarketOptions,
  type MarketState,
  type Person,
} from './market-state.ts';
import { createPlatformServer, platformPath } from './platform-server.ts';
import { showContract, showLink, showPerson } from './shapes.ts';

/**
 * A marketplace written from `spec/platform-api.md` alone. It shares no code with the sandbox and
 * must not: where both understood the specification the same way, that is worth something. Nothing
 * is delivered by itself; `deliverDue` attempts what is due at the moment that the clock shows.
 */
export interface SecondMarketplace {
  /** Where the platform API begins. */
  baseUrl: string;
  createInstall(): Connection;
  createJob(organizationId: string): string;
  /** Trainers by their ids. The events name the first of them. */
  hire(jobId: string, trainerIds: string[]): string;
  end(contractId: string): void;
  /** No event tells of it. */
  replacePeople(contractId: string, trainerIds: string[]): void;
  /** From now on no address is shown. */
  withdrawConsent(installId: string): void;
  /** From now on 401; the install stays. */
  revokeToken(installId: string): void;
  /** From now on 403. */
  revokeInstall(installId: string): void;
  deliverDue(): Promise<void>;
  stop(): Promise<void>;
}

/** What the customer gets to see once, when they consent. */
interface Connection {
  installId: string;
  organizationId: string;
  token: string;
}

const scopes = [
  'project-links:read',
  'project-links:write',
  'contracts:read',
  'participants:read',
  'participants:email',
  'usage:write',
  'webhooks:manage',
];

export async function openSecondMarketplace(options: MarketOptions): Promise<SecondMarketplace> {
  const state = createMarketState(options);
  const server = createPlatformServer(state);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    baseUrl: `http://127.0.0.1:${port}${platformPath}`,
    createInstall() {
      const value = `ot_ptk_${state.nextId('second')}`;
      const [id, organizationId] = [state.nextId('ins'), state.nextId('org')];
      const install: InstallRecord = {
        id,
        status: 'ACTIVE',
        scopes,
        piiConsent: true,
        organizationId,
        createdAt: state.now(),
        links: new Map(),
        endpoints: new Map(),
        token: { id: state.nextId('tok'), name: 'Gangway', isLive: true },
      };
      state.installs.set(id, install);
      state.installsByToken.set(value, install);
      return { installId: id, organizationId, token: value };
    },
    createJob(organizationId) {
      const id = state.nextId('job');
      state.jobs.set(id, organizationId);
      return id;
    },
    hire(jobId, trainerIds) {
      if (!state.jobs.has(jobId)) throw new Error(`there is no job ${jobId}`);
      const [id, now] = [state.nextId('ctr'), state.now()];
      const contract: ContractRecord = {
        id,
        jobId,
        title: 'Labelling',
        people: trainerIds.map(toPerson),
        status: 'active',
        startDate: now,
        endDate: null,
        createdAt: now,
        reported: new Map(),
        lastUsageAt: null,
      };
      state.contracts.set(id, contract);
      raiseOnLinks(state, contract, 'contract.started');
      return id;
    },
    end(contractId) {
      const contract = known(state.contracts, contractId);
      if (contract.status === 'ended') return;
      contract.status = 'ended';
      contract.endDate = state.now();
      raiseOnLinks(state, contract, 'contract.ended');
    },
    replacePeople(contractId, trainerIds) {
      known(state.contracts, contractId).people = trainerIds.map(toPerson);
    },
    withdrawConsent(installId) {
      known(state.installs, installId).piiConsent = false;
    },
    revokeToken(installId) {
      known(state.installs, installId).token.isLive = false;
    },
    revokeInstall(installId) {
      const install = known(state.installs, installId);
      if (install.status === 'REVOKED') return;
      install.status = 'REVOKED';
      const data = { install: { id: installId, status: 'REVOKED' } };
      raiseEvent(state, install, { type: 'install.revoked', resourceId: installId, jobId: null, data });
    },
    deliverDue: () => deliverDue(state),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function known<Thing>(things: ReadonlyMap<string, Thing>, id: string): Thing {
  const thing = things.get(id);
  if (thing === undefined) throw new Error(`there is no ${id}`);
  return thing;
}

function toPerson(opentrainUserId: string): Person {
  return {
    opentrainUserId,
    displayName: `${opentrainUserId.slice(0, 5)} D.`,
    country: 'PT',
    profileUrl: `https://app.opentrain.ai/t/${opentrainUserId}`,
    workEmail: `${opentrainUserId}@opentrain.work`,
  };
}

/** One event per link on the job. */
function raiseOnLinks(state: MarketState, contract: ContractRecord, type: string): void {
  const { id, jobId, people } = contract;
  const [person] = people;
  for (const install of state.installs.values()) {
    if (install.status !== 'ACTIVE') continue;
    for (const link of install.links.values()) {
      if (link.jobId !== jobId) continue;
      const freelancer = person && { freelancer: showPerson(person, install) };
      const data = { contract: showContract(contract), ...freelancer, projectLink: showLink(link) };
      raiseEvent(state, install, { type, resourceId: id, jobId, data });
    }
  }
}
