import {
  createJob,
  endContract,
  fundMilestone,
  type HiredContract,
  hire,
  replaceParticipant,
} from './contract-control.ts';
import type {
  End,
  Funding,
  Hire,
  NewInstall,
  NewJob,
  Replacement,
} from './control-request-schema.ts';
import {
  type CreatedInstall,
  createInstall,
  type Reconnection,
  reconnect,
  revokeInstall,
  revokeToken,
  setPiiConsent,
} from './install-control.ts';
import type { Marketplace } from './marketplace.ts';
import type { Job, Milestone, Trainer } from './sandbox-state.ts';
import { type ListedDelivery, listDeliveries, type Snapshot, takeSnapshot } from './snapshot.ts';

/** The side of the marketplace that customers and employers see, as one hand at the controls. */
export interface Control {
  createInstall(wanted?: NewInstall): CreatedInstall;
  setPiiConsent(installId: string, piiConsent: boolean): void;
  revokeInstall(installId: string): void;
  revokeToken(installId: string): void;
  reconnect(installId: string): Reconnection;
  createJob(wanted: NewJob): Job;
  hire(wanted: Hire): HiredContract;
  endContract(contractId: string, wanted?: End): void;
  fundMilestone(contractId: string, wanted?: Funding): Milestone;
  replaceParticipant(contractId: string, wanted: Replacement): Trainer[];
  snapshot(): Snapshot;
  listDeliveries(): ListedDelivery[];
}

export function createControl(marketplace: Marketplace): Control {
  return {
    createInstall: (wanted) => createInstall(marketplace, wanted),
    setPiiConsent: (installId, piiConsent) => setPiiConsent(marketplace, installId, piiConsent),
    revokeInstall: (installId) => revokeInstall(marketplace, installId),
    revokeToken: (installId) => revokeToken(marketplace, installId),
    reconnect: (installId) => reconnect(marketplace, installId),
    createJob: (wanted) => createJob(marketplace, wanted),
    hire: (wanted) => hire(marketplace, wanted),
    endContract: (contractId, wanted) => endContract(marketplace, contractId, wanted),
    fundMilestone: (contractId, wanted) => fundMilestone(marketplace, contractId, wanted),
    replaceParticipant: (contractId, wanted) => replaceParticipant(marketplace, contractId, wanted),
    snapshot: () => takeSnapshot(marketplace),
    listDeliveries: () => listDeliveries(marketplace),
  };
}
