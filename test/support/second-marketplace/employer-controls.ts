import { supportedScopes } from './employer-operations.ts';
import {
  type AccountOptions,
  createAccount,
  createToken,
  type EmployerState,
  hire,
  resolveApproval,
} from './employer-state.ts';
import { orNotFound } from './refusal.ts';

/** Why the bytes of an attachment cannot be had (part B, section 4.2). */
export const unavailableReasons = [
  'MESSAGE_DELETED',
  'MESSAGE_HIDDEN',
  'NO_REFERENCE',
  'PATH_NOT_BOUND_TO_CONVERSATION',
  'EXTERNAL_HOST_NOT_ALLOWED',
  'STORAGE_OBJECT_MISSING',
  'EXTERNAL_FETCH_FAILED',
  'OVERSIZE',
] as const;

type UnavailableReason = (typeof unavailableReasons)[number];

/** What people do, outside of the API. */
export interface EmployerControls {
  createAccount(options?: AccountOptions): { accountId: string; token: string };
  /** A published one. */
  createJob(accountId: string): string;
  hire(jobId: string): string;
  fund(contractId: string): void;
  bill(contractId: string): void;
  resolve(approvalId: string, status: 'confirmed' | 'declined'): void;
  pay(topUpId: string): void;
  /** @returns the id of the proposal */
  propose(jobId: string, hasInterview: boolean): string;
  attach(
    accountId: string,
    file: { bytes: Buffer; unavailable: UnavailableReason | null },
  ): { messageId: string; attachmentId: string };
  /** One that is published, with one page. */
  createManual(accountId: string): { manualId: string; pageId: string };
}

export function createControls(state: EmployerState): EmployerControls {
  const accountOfJob = (jobId: string) => orNotFound(state.find('job', jobId), 'Job').accountId;
  const contractOf = (id: string) => orNotFound(state.find('contract', id), 'Contract');
  return {
    createAccount(options) {
      const account = createAccount(state, options);
      const { value } = createToken(state, account, { name: 'First', scopes: supportedScopes });
      return { accountId: account.id, token: value };
    },
    createJob: (accountId) => state.keep('job', accountId, { status: 'OPEN', fields: {}, key: null }).id,
    hire: (jobId) => hire(state, accountOfJob(jobId), jobId).id,
    fund(contractId) {
      const { accountId, record: contract } = contractOf(contractId);
      const [id, status] = [state.nextId('mil'), 'ACTIVE_FUNDED'];
      contract.milestones.push({
        ...{ id, name: 'First', description: null, status, amountUsd: 200, volume: 10, milestoneNumber: 1 },
        ...{ dueDate: null, pendingApproval: false, needsReview: false, invoiceId: null, createdAt: state.at() },
      });
      contract.hasActiveMilestone = true;
      state.raise(accountId, 'milestone.status_changed', contract.jobId, { milestoneId: id, contractId, status });
    },
    bill(contractId) {
      const { accountId, record: contract } = contractOf(contractId);
      const { jobId, title, milestones } = contract;
      const milestone = { id: milestones[0]?.id ?? null, name: milestones[0]?.name ?? null };
      const { id: invoiceId } = state.keep('invoice', accountId, {
        ...{ status: 'PENDING_FUNDING', invoiceKind: 'FUNDING', viewerRole: 'EMPLOYER', amountUsd: 200 },
        ...{ createdAt: state.at(), invoiceNumber: 1, job: { id: jobId, title }, milestone },
      });
      state.raise(accountId, 'payment.pending', jobId, { invoiceId, milestoneId: milestone.id, contractId });
    },
    resolve(approvalId, status) {
      const { accountId, record } = orNotFound(state.find('approval', approvalId), 'Approval');
      resolveApproval(state, accountId, record, status);
    },
    pay(topUpId) {
      const completed = { status: 'COMPLETED', completedAt: state.at() };
      Object.assign(state.find('topUp', topUpId)?.record, completed);
    },
    propose(jobId, hasInterview) {
      const proposalId = state.nextId('prp');
      const message = { id: state.nextId('msg'), role: 'interviewer', content: 'Hello.', sentAt: state.at() };
      const messages = [message, { ...message, role: 'candidate' }];
      const interview = { proposalId, interviewId: state.nextId('int'), score: 80, summary: null, messages };
      const proposal = { id: proposalId, ...(hasInterview && { interview }) };
      return state.keep('proposal', accountOfJob(jobId), proposal).id;
    },
    attach(accountId, { bytes, unavailable }) {
      const attachmentId = `att_${'0123456789abcdef'.repeat(2)}`;
      const { id } = state.keep('message', accountId, { attachmentId, bytes, unavailable, fileName: 'signs.png' });
      return { messageId: id, attachmentId };
    },
    createManual(accountId) {
      const pageId = state.nextId('pag');
      return { manualId: state.keep('manual', accountId, { title: 'Streets', pageId }).id, pageId };
    },
  };
}
