import { eventTypes } from '../domain/event.ts';
import { pageLimit } from './contract-calls.ts';

/** The operations of the marketplace that Gangway calls, and what it relies on in each. */
export interface ReliedOperation {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the base address, with `{id}` for an id. */
  path: string;
  /** The query parameters. No others are ever sent. */
  query?: RecordShape;
  body?: RecordShape;
  answer: RecordShape;
}

/** The part of a value that Gangway relies on. */
export type Shape =
  /** An id may also be a number, and a number may be sent as text. */
  | { is: 'text' | 'id' | 'flag' }
  /** In a request: the greatest value that is sent. */
  | { is: 'number'; atMost?: number }
  /** A text. Gangway relies on these words; there may be others. */
  | { is: 'word'; words: readonly string[] }
  | { is: 'list'; of: Shape }
  | RecordShape;

export interface RecordShape {
  is: 'record';
  /** In an answer: it is needed. In a request: it is always sent. */
  firm: Fields;
  /** In an answer: it is only shown, or not always there. In a request: it is not always sent. */
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

/** All 15 operations. A test compares this with the calls and with what is read from the answers. */
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
