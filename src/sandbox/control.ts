import {
  createJob,
  endContract,
  fundMilestone,
  type HiredContract,
  hire,
  raiseMistakenEnd,
  replaceParticipant,
} from './contract-control.ts';
import type {
  Bill,
  End,
  FeedNews,
  Funding,
  Hire,
  NewAccount,
  NewInstall,
  NewJob,
  Relink,
  Replacement,
  Settle,
  WorkEmail,
} from './control-request-schema.ts';
import type { PendingPayment } from './employer/account.ts';
import {
  type CreatedAccount,
  createAccount,
  type Resolution,
  raiseNews,
  resolveApproval,
  revokeAccountTokens,
  setWorkEmail,
} from './employer/account-control.ts';
import {
  archiveManual,
  bindManual,
  type CreatedManual,
  createManual,
  editPage,
  publishManual,
} from './employer/manual-control.ts';
import type { NewBindings, NewManual, NewPublication, PageEdit } from './employer/manual-control-schema.ts';
import { billContract, settlePayment } from './employer/payment-control.ts';
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
import type { Marketplace } from './marketplace.ts';
import { removeLiveLink, replaceLiveLink } from './project-links.ts';
import type { Job, Milestone, SandboxLink, Trainer } from './sandbox-state.ts';
import { type DeliverySnapshot, type Snapshot, takeDeliverySnapshots, takeSnapshot } from './snapshot.ts';

/** What customers and employers do at the marketplace, and what goes wrong there. */
export interface Control {
  createInstall(wanted?: NewInstall): CreatedInstall;
  setPiiConsent(installId: string, piiConsent: boolean): void;
  revokeInstall(installId: string): void;
  revokeToken(installId: string): void;
  reconnect(installId: string): Reconnection;
  createAccount(wanted?: NewAccount): CreatedAccount;
  revokeAccountTokens(accountId: string): void;
  resolveApproval(approvalId: string, status: Resolution): void;
  /** An invoice of the contract waits for a person. */
  billContract(contractId: string, wanted?: Bill): PendingPayment;
  settlePayment(paymentId: string, wanted?: Settle): void;
  setWorkEmail(trainerId: string, wanted: WorkEmail): void;
  raiseNews(accountId: string, news: FeedNews): void;
  createManual(accountId: string, wanted: NewManual): CreatedManual;
  /** Changes the draft, and nothing that is published. */
  editPage(pageId: string, changes: PageEdit): { pageId: string; revision: number };
  publishManual(manualId: string, wanted?: NewPublication): { manualId: string; publicationNumber: number };
  bindManual(manualId: string, wanted: NewBindings): { manualId: string };
  archiveManual(manualId: string): { manualId: string };
  createJob(wanted: NewJob): Job;
  hire(wanted: Hire): HiredContract;
  endContract(contractId: string, wanted?: End): void;
  raiseMistakenEnd(contractId: string): void;
  fundMilestone(contractId: string, wanted?: Funding): Milestone;
  replaceParticipant(contractId: string, wanted: Replacement): Trainer[];
  removeLink(linkId: string): SandboxLink;
  relink(linkId: string, changes?: Relink): SandboxLink;
  /** Replaces the faults of one install or of all; without `faults` nothing goes wrong any more. */
  setFaults(installId: string | undefined, faults?: WantedFaults): FaultsInForce;
  snapshot(): Snapshot;
  listDeliveries(): DeliverySnapshot[];
}

export function createControl(marketplace: Marketplace): Control {
  return {
    createInstall: (wanted) => createInstall(marketplace, wanted),
    setPiiConsent: (installId, piiConsent) => setPiiConsent(marketplace, installId, piiConsent),
    revokeInstall: (installId) => revokeInstall(marketplace, installId),
    revokeToken: (installId) => revokeToken(marketplace, installId),
    reconnect: (installId) => reconnect(marketplace, installId),
    createAccount: (wanted) => createAccount(marketplace, wanted),
    revokeAccountTokens: (accountId) => revokeAccountTokens(marketplace, accountId),
    resolveApproval: (approvalId, status) => resolveApproval(marketplace, approvalId, status),
    billContract: (contractId, wanted) => billContract(marketplace, contractId, wanted),
    settlePayment: (paymentId, wanted) => settlePayment(marketplace, paymentId, wanted),
    setWorkEmail: (trainerId, wanted) => setWorkEmail(marketplace, trainerId, wanted),
    raiseNews: (accountId, news) => raiseNews(marketplace, accountId, news),
    createManual: (accountId, wanted) => createManual(marketplace, accountId, wanted),
    editPage: (pageId, changes) => editPage(marketplace, pageId, changes),
    publishManual: (manualId, wanted) => publishManual(marketplace, manualId, wanted),
    bindManual: (manualId, wanted) => bindManual(marketplace, manualId, wanted),
    archiveManual: (manualId) => archiveManual(marketplace, manualId),
    createJob: (wanted) => createJob(marketplace, wanted),
    hire: (wanted) => hire(marketplace, wanted),
    endContract: (contractId, wanted) => endContract(marketplace, contractId, wanted),
    raiseMistakenEnd: (contractId) => raiseMistakenEnd(marketplace, contractId),
    fundMilestone: (contractId, wanted) => fundMilestone(marketplace, contractId, wanted),
    replaceParticipant: (contractId, wanted) => replaceParticipant(marketplace, contractId, wanted),
    removeLink: (linkId) => removeLiveLink(marketplace, linkId),
    relink: (linkId, changes) => replaceLiveLink(marketplace, linkId, changes),
    setFaults: (installId, faults) => setFaults(marketplace, installId, faults),
    snapshot: () => takeSnapshot(marketplace),
    listDeliveries: () => takeDeliverySnapshots(marketplace),
  };
}
