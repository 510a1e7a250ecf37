import {
  createJob,
  endContract,
  fundMilestone,
  type HiredContract,
  hire,
  raiseMistakenEnd,
  replaceParticipant,
} from './contract-control.ts';
import type { End, Funding, Hire, NewInstall, NewJob, Relink, Replacement } from './control-request-schema.ts';
import { type FaultsInForce, setFaults } from './fault-control.ts';
import type { WantedFaults } from './faults/faults-schema.ts';
import {
  type CreatedInstall,
  createInstall,
  type Reconnection,
  reconnect,
  revokeInstall,
  revokeToken,
  setPiiConsent,
} from './install-control.ts';
import { relink, removeLink } from './link-control.ts';
import type { Marketplace } from './marketplace.ts';
import type { Job, Milestone, ProjectLink, Trainer } from './sandbox-state.ts';
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
  raiseMistakenEnd(contractId: string): void;
  fundMilestone(contractId: string, wanted?: Funding): Milestone;
  replaceParticipant(contractId: string, wanted: Replacement): Trainer[];
  removeLink(linkId: string): ProjectLink;
  relink(linkId: string, changes?: Relink): ProjectLink;
  /** From now on, for one install or for all; without faults, all is well again. */
  setFaults(installId: string | undefined, faults?: WantedFaults): FaultsInForce;
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
    raiseMistakenEnd: (contractId) => raiseMistakenEnd(marketplace, contractId),
    fundMilestone: (contractId, wanted) => fundMilestone(marketplace, contractId, wanted),
    replaceParticipant: (contractId, wanted) => replaceParticipant(marketplace, contractId, wanted),
    removeLink: (linkId) => removeLink(marketplace, linkId),
    relink: (linkId, changes) => relink(marketplace, linkId, changes),
    setFaults: (installId, faults) => setFaults(marketplace, installId, faults),
    snapshot: () => takeSnapshot(marketplace),
    listDeliveries: () => listDeliveries(marketplace),
  };
}
