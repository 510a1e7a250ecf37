import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { deliverDue } from './deliveries.ts';
import {
  contractOf,
  createInstall,
  end,
  fund,
  type HireOptions,
  hire,
  reconnect,
  revokeInstall,
  toPerson,
  type WantedInstall,
} from './happenings.ts';
import { createMarketState, type MarketOptions } from './market-state.ts';
import { createPlatformServer, platformPath } from './platform-server.ts';
import type { InstallRecord } from './records.ts';

/**
 * A marketplace written from `spec/platform-api.md` alone. It shares no code with the sandbox and
 * must not: where both understood the specification the same way, that is worth something. Nothing
 * is delivered by itself; `deliverDue` attempts what is due at the moment that the clock shows.
 */
export interface SecondMarketplace {
  /** Where the platform API begins. */
  baseUrl: string;
  createInstall(wanted?: WantedInstall): Connection;
  createJob(organizationId: string): string;
  /** Trainers by their ids. The events name the first of them. */
  hire(jobId: string, trainerIds: string[], options?: HireOptions): string;
  end(contractId: string): void;
  /** No event tells of it. */
  replacePeople(contractId: string, trainerIds: string[]): void;
  fund(contractId: string, milestone: { amountUsd: number; volume: number }): void;
  /** From now on 401; the install stays. */
  revokeToken(installId: string): void;
  /** From now on 403. */
  revokeInstall(installId: string): void;
  /** Another install with another token, of the same customer. */
  reconnect(installId: string): Connection;
  deliverDue(): Promise<void>;
  stop(): Promise<void>;
}

/** What the customer gets to see once, when they consent. */
export interface Connection {
  installId: string;
  organizationId: string;
  token: string;
}

export async function openSecondMarketplace(options: MarketOptions): Promise<SecondMarketplace> {
  const state = createMarketState(options);
  const server = createPlatformServer(state);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  function installOf(installId: string): InstallRecord {
    const install = state.installs.get(installId);
    if (install === undefined) throw new Error(`there is no install ${installId}`);
    return install;
  }

  return {
    baseUrl: `http://127.0.0.1:${port}${platformPath}`,
    createInstall: (wanted = {}) => toConnection(createInstall(state, wanted)),
    createJob(organizationId) {
      const id = state.nextId('job');
      state.jobs.set(id, { id, organizationId, contracts: { active: [], ended: [] } });
      return id;
    },
    hire: (jobId, ids, hiring) => hire(state, jobId, ids.map(toPerson), hiring),
    end: (contractId) => end(state, contractId),
    replacePeople(contractId, ids) {
      contractOf(state, contractId).people = ids.map(toPerson);
    },
    fund: (contractId, milestone) => fund(state, contractId, milestone),
    revokeToken(installId) {
      installOf(installId).token.isLive = false;
    },
    revokeInstall: (installId) => revokeInstall(state, installOf(installId)),
    reconnect: (installId) => toConnection(reconnect(state, installOf(installId))),
    deliverDue: () => deliverDue(state),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function toConnection({ id, organizationId, token }: InstallRecord): Connection {
  return { installId: id, organizationId, token: token.value };
}
