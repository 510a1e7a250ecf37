import { eventTypes } from '../domain/event.ts';
import { pageLimit } from './contract-calls.ts';

/** Which of the marketplace's operations are called, and what of each is relied on. */
export interface ReliedOperation {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the base address; what an id stands for is `{id}`. */
  path: string;
  /** What is sent with the address, never more than this. */
  query?: RecordShape;
  body?: RecordShape;
  answer: RecordShape;
}

/** As much of a value as is relied on. */
export type Shape =
  /** An id may be a number too, and a number may be sent as text. */
  | { is: 'text' | 'id' | 'flag' }
  /** Where it is sent, it may be as much as that. */
  | { is: 'number'; atMost?: number }
  /** A text of which these words are relied on, whatever others there are. */
  | { is: 'word'; words: readonly string[] }
  | { is: 'list'; of: Shape }
  | RecordShape;

export interface RecordShape {
  is: 'record';
  /** In an answer: nothing works without. In a request: always sent. */
  firm: Fields;
  /** In an answer: for showing, or not always there. In a request: not always sent. */
  loose: Fields;
}

export type Fields = Readonly<Record<string, Shape>>;

const text = { is: 'text' } as const;
const id = { is: 'id' } as const;
const number = { is: 'number' } as const;
const flag = { is: 'flag' } as const;

const word = (...words: string[]): Shape => ({ is: 'word', words });
const listOf = (of: Shape): Shape => ({ is: 'list', of });
const record = (firm: Fields, loose: Fields = {}): RecordShape => ({ is: 'record', firm, loose });

const install = record(
  { id, status: word('ACTIVE'), piiConsent: flag, token: record({ scopes: listOf(text) }, { id, name: text }) },
  { scopes: listOf(text), organizationId: id, partnerApp: record({}, { id }) },
);

const provisioningMode = word('PARTNER_WEBHOOK', 'MANAGED_ADAPTER');

const link = record(
  { id, externalProjectId: id, provisioningMode, jobId: id },
  { externalProjectName: text, externalProjectUrl: text, createdAt: text },
);

const contract = record(
  { id, status: word('active', 'ended'), projectLinkIds: listOf(id) },
  { jobId: id, title: text, startDate: text, endDate: text, createdAt: text },
);

const participant = record({ opentrainUserId: id, workEmail: text }, { displayName: text });

const milestone = record({ id }, { name: text, amountUsd: number, volume: number, status: text });

const budget = record(
  { contractId: id, state: word('OK', 'LOW', 'DEPLETED') },
  {
    paymentType: text,
    fundedVolume: number,
    fundedAmountUsd: number,
    consumed: record({}, { seconds: number, hours: number, labels: number, tasks: number }),
    consumedVolume: number,
    remainingVolume: number,
    consumedFraction: number,
    activeMilestone: milestone,
    lastUsageAt: text,
  },
);

const endpoint = record(
  { id, url: text, status: word('ACTIVE', 'DISABLED'), eventTypes: listOf(text) },
  { createdAt: text, consecutiveFailures: number, disabledAt: text, disabledReason: text },
);

const usageEntry = record(
  { workDate: text },
  {
    totalSeconds: number,
    tasksCompleted: number,
    labelsCompleted: number,
    workerOpentrainUserId: id,
    externalReportId: id,
  },
);

const subscribed = listOf(word(...eventTypes));
const deleted = record({ deleted: flag });

/** All 15 operations; a test holds this to what is called and to what is read of the answers. */
export const reliedOperations: readonly ReliedOperation[] = [
  { method: 'GET', path: '/installs/current', answer: record({ install }) },

  { method: 'GET', path: '/project-links', answer: record({ projectLinks: listOf(link) }) },
  {
    method: 'POST',
    path: '/project-links',
    answer: record({ projectLink: link }),
    body: record(
      { externalProjectId: id },
      { externalProjectName: text, externalProjectUrl: text, provisioningMode, jobId: id },
    ),
  },
  { method: 'GET', path: '/project-links/{id}', answer: record({ projectLink: link }) },
  { method: 'DELETE', path: '/project-links/{id}', answer: deleted },

  {
    method: 'GET',
    path: '/contracts',
    answer: record({ contracts: listOf(contract) }),
    query: record(
      { status: word('active', 'ended'), limit: { is: 'number', atMost: pageLimit } },
      { projectLinkId: id },
    ),
  },
  {
    method: 'GET',
    path: '/contracts/{id}/participants',
    answer: record({ participants: listOf(participant) }, { contractId: id }),
  },
  { method: 'GET', path: '/contracts/{id}/budget', answer: budget },
  {
    method: 'POST',
    path: '/contracts/{id}/usage',
    body: record({ entries: listOf(usageEntry) }),
    answer: record({ contractId: id }, { accepted: number, budget }),
  },

  { method: 'GET', path: '/webhook-endpoints', answer: record({ webhookEndpoints: listOf(endpoint) }) },
  {
    method: 'POST',
    path: '/webhook-endpoints',
    body: record({ url: text, eventTypes: subscribed }),
    answer: record({ webhookEndpoint: endpoint, secret: text }),
  },
  { method: 'GET', path: '/webhook-endpoints/{id}', answer: record({ webhookEndpoint: endpoint }) },
  {
    method: 'PATCH',
    path: '/webhook-endpoints/{id}',
    body: record({}, { url: text, eventTypes: subscribed, status: word('ACTIVE', 'DISABLED') }),
    answer: record({ webhookEndpoint: endpoint }),
  },
  { method: 'DELETE', path: '/webhook-endpoints/{id}', answer: deleted },
  {
    method: 'POST',
    path: '/webhook-endpoints/{id}/redeliver',
    body: record({}, { deliveryId: id }),
    answer: record({}, { requeued: number }),
  },
];
