import type { Reliance } from './compare-openapi.ts';
import { account, team, tokens } from './contract/account.ts';
import { changesets } from './contract/changesets.ts';
import { approvals, contracts, credits, milestones, payments } from './contract/contracts.ts';
import { updates, webhooks } from './contract/events.ts';
import { proposals } from './contract/hiring.ts';
import { instructions, manuals, pages, permissions, publications, workspaces } from './contract/instructions.ts';
import { drafts, jobs } from './contract/jobs.ts';
import { messaging } from './contract/messages.ts';
import type { Operation } from './contract/operation.ts';
import { installs, platformContracts, projectLinks, webhookEndpoints } from './contract/platform.ts';

// What the sources call, with the fields that they rely on. A test compares it with the requests.

/** Relies on these fields of the record that has the given name in the answer. */
function onRecord(operation: Operation, name: string, { reads, vital, sends }: Omit<Reliance, 'operation'>): Reliance {
  const within = (fields?: readonly string[]) => fields?.map((field) => `${name}.${field}`);
  return { operation, sends, reads: within(reads), vital: within(vital) };
}

const link = { vital: ['jobId', 'provisioningMode'] };
const endpoint = { vital: ['url', 'eventTypes'] };

export const ofPlatform: readonly Reliance[] = [
  onRecord(installs.current, 'install', {
    reads: ['scopes', 'organizationId', 'partnerApp.id', 'token.id', 'token.name'],
    vital: ['piiConsent', 'token.scopes'],
  }),
  onRecord(projectLinks.list, 'projectLinks', link),
  onRecord(projectLinks.create, 'projectLink', link),
  onRecord(projectLinks.get, 'projectLink', link),
  { operation: projectLinks.delete, reads: [] },
  { operation: platformContracts.list, sends: ['status', 'limit', 'projectLinkId?'] },
  onRecord(platformContracts.participants, 'participants', { vital: ['workEmail'] }),
  { operation: platformContracts.budget },
  { operation: platformContracts.usage },
  onRecord(webhookEndpoints.list, 'webhookEndpoints', endpoint),
  onRecord(webhookEndpoints.create, 'webhookEndpoint', endpoint),
  onRecord(webhookEndpoints.get, 'webhookEndpoint', endpoint),
  onRecord(webhookEndpoints.update, 'webhookEndpoint', endpoint),
  { operation: webhookEndpoints.delete, reads: [] },
  { operation: webhookEndpoints.redeliver, reads: ['requeued'] },
];

const webhook = { ...endpoint, reads: ['createdAt', 'disabledAt', 'disabledReason'] };
const token = { reads: ['lastUsedAt', 'expiresAt'], vital: ['name', 'createdAt'] };
const ofPage = ['parentId', 'title', 'audience', 'checksum', 'position'];

const whole = (operation: Operation): Reliance => ({ operation });
const ofHires = [
  { operation: drafts.create, sends: ['rawJobDescription', 'idempotencyKey'] },
  { operation: drafts.update, sends: [] },
  { operation: contracts.createMilestone, sends: ['name', 'amountUsd?', 'volume?'] },
  ...[jobs.publish, jobs.proposals, proposals.get, proposals.interview, proposals.hire].map(whole),
  ...[approvals.get, contracts.end, milestones.fund, milestones.approve, credits.topUp].map(whole),
  ...[team.get, team.invite].map(whole),
];

const ofManuals = [
  ...[instructions.capabilities, manuals.create, manuals.tree, manuals.revisions, manuals.restore].map(whole),
  ...[changesets.validate, changesets.diff, changesets.apply, changesets.submit, changesets.list, changesets.get].map(
    whole,
  ),
  ...[changesets.approve, changesets.reject, changesets.applyStored, publications.create, permissions.list].map(whole),
];

/** People get in and out without these. */
const optional: readonly Reliance[] = [
  ...ofHires,
  onRecord(payments.pending, 'payments', {
    reads: ['viewerRole', 'createdAt', 'amountUsd', 'invoiceNumber', 'job.id'],
  }),
  ...ofManuals,
  { operation: workspaces.list, sends: [], reads: [] },
  onRecord(manuals.list, 'manuals', { sends: [], reads: ['bindings'] }),
  onRecord(manuals.get, 'manual', { reads: ['bindings'] }),
  { operation: publications.list, sends: [], reads: [] },
  onRecord(publications.manifest, 'pages', { sends: ['audience'], reads: ofPage }),
  onRecord(pages.get, 'page', { sends: ['revision', 'format'], reads: ['revision', 'checksum'] }),
];

export const ofEmployer: readonly Reliance[] = [
  { operation: account.me },
  onRecord(tokens.list, 'tokens', token),
  onRecord(tokens.create, 'metadata', { ...token, sends: ['name', 'scopes', 'expiresAt?'] }),
  onRecord(tokens.revoke, 'token', token),
  onRecord(contracts.list, 'contracts', {
    sends: ['jobId', 'status'],
    reads: ['jobId', 'title', 'startDate', 'endDate', 'createdAt'],
  }),
  onRecord(contracts.get, 'contract', {
    reads: ['freelancer.userId', 'freelancer.displayName', 'jobDmConversationId', 'budget'],
  }),
  onRecord(messaging.member, 'membership', {
    sends: ['conversationId', 'contractId', 'includeWorkEmail'],
    reads: ['workEmail'],
  }),
  { operation: updates.list, sends: ['cursor', 'limit'], reads: ['nextCursor', 'hasMore'] },
  onRecord(webhooks.list, 'webhooks', webhook),
  onRecord(webhooks.create, 'webhook', webhook),
  onRecord(webhooks.get, 'webhook', webhook),
  { operation: webhooks.delete, reads: [] },
  ...optional.map((one) => ({ ...one, isOptional: true })),
];

/** The ids of all operations that a source calls. */
export const reliedOn: ReadonlySet<string> = new Set(
  [...ofPlatform, ...ofEmployer].map(({ operation }) => operation.id),
);
