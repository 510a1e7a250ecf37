import { z } from 'zod';
import type { Act } from '../db/audit-store.ts';
import type { Database } from '../db/database.ts';
import type { ContractEvidence, LinkEvidence } from '../domain/evidence.ts';
import type { ReceiptOutcome, ToolOperation } from '../domain/membership.ts';
import { type ListedDelivery, listDeliveries } from '../inbox/delivery-list-store.ts';
import { maskText } from '../lib/mask.ts';
import { compareTexts } from '../lib/text.ts';
import { sayInstants } from '../lib/units.ts';
import type { Bearing } from '../memberships/explain-store.ts';
import type { Columns } from './show.ts';
import { formatList } from './text-table.ts';
import {
  type KnownIntent,
  type KnownReceipt,
  listActsAbout,
  listIntents,
  listPlansOf,
  listReceipts,
  listTimelineMemberships,
  type TimelineMembership,
  type TimelineSubject,
} from './timeline-store.ts';
import { named } from './values.ts';

/** What happened about a trainer, a contract or a membership, step by step. */

/** In the order in which one leads to the next. */
const kinds = ['delivery', 'act', 'evidence', 'wanted', 'look', 'call', 'receipt'] as const;

const TimelineStep = named('TimelineStep', {
  at: z.string(),
  kind: z.enum(kinds),
  says: z.string(),
  deliveryId: z.int().optional(),
  membershipId: z.int().optional(),
  actId: z.int().optional(),
});

export const Timeline = named('Timeline', {
  steps: z.array(TimelineStep).describe('The oldest first.'),
  isCutOff: z.boolean().describe('Whether older steps are left out.'),
});

export type Timeline = z.output<typeof Timeline>;
export type TimelineStep = z.output<typeof TimelineStep>;

const columns: Columns<TimelineStep> = [
  ['when', ({ at }) => `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`],
  ['step', ({ kind }) => kind],
  ['what', ({ says }) => says],
  ['see', seeOf, { to: (step) => `/${seeOf(step).replace(' ', '/').replace('delivery', 'deliveries')}` }],
];

export function sayTimeline({ steps, isCutOff }: Timeline): string {
  const table = formatList(steps, columns, 'Nothing has happened yet.');
  return isCutOff ? `${table}\nOlder steps are left out.` : table;
}

function seeOf({ deliveryId, membershipId, actId }: TimelineStep): string {
  if (deliveryId !== undefined) return `delivery ${deliveryId}`;
  if (actId !== undefined) return `act ${actId}`;
  return membershipId === undefined ? '' : `membership ${membershipId}`;
}

type Known = 'contracts' | 'links' | 'grants' | 'participations' | 'people';

/** The most memberships of a timeline, and the most rows of each kind. */
const most = 200;

/** @param bearing what is known about its contracts, links and trainers */
export async function loadTimeline(
  { kysely }: Database,
  of: TimelineSubject,
  bearing: Pick<Bearing, Known>,
): Promise<Timeline> {
  const memberships = await listTimelineMemberships(kysely, of, most);
  const ids = memberships.map(({ id }) => id);
  const contracts = bearing.contracts.slice(0, most);
  const links = bearing.links.slice(0, most);
  const installs = new Set(contracts.map(({ install }) => install));
  const grants = bearing.grants.filter(({ install }) => installs.has(install));
  const subjects = [
    ...contracts.map(({ contractId }) => contractId),
    ...links.map(({ linkId }) => linkId),
    ...grants.map(({ grantId }) => grantId),
  ];
  const deliveries = await listDeliveries(kysely, { subjects, limit: most });
  const [intents, receipts] = [await listIntents(kysely, ids, most), await listReceipts(kysely, ids, most)];
  const about = {
    subjects: [
      ...ids.flatMap((id) => [`membership ${id}`, `the account in doubt of membership ${id}`]),
      ...contracts.map(({ install, contractId }) => `${install}/${contractId}`),
      ...links.map(({ install, linkId }) => `${install}/${linkId}`),
      ...(await listPlansOf(kysely, ids, most)).map((id) => `plan ${id}`),
    ],
    trainerIds: [...new Set(memberships.map(({ trainerId }) => trainerId))],
  };
  const acts = await listActsAbout(kysely, about, most);
  const steps = toTimeline({
    deliveries: deliveries.filter(({ install }) => installs.has(install)).reverse(),
    contracts,
    links,
    grants,
    participations: bearing.participations.slice(0, most),
    people: bearing.people,
    memberships,
    // Rows come in the order of their ids, which two steps at the same moment keep.
    intents: intents.reverse(),
    receipts: receipts.reverse(),
    acts: acts.reverse(),
  });
  return { steps, isCutOff: [memberships, deliveries, intents, receipts, acts].some(({ length }) => length >= most) };
}

interface TimelineFacts extends Pick<Bearing, Known> {
  deliveries: readonly ListedDelivery[];
  memberships: readonly TimelineMembership[];
  intents: readonly KnownIntent[];
  receipts: readonly KnownReceipt[];
  acts: readonly Act[];
}

/** The oldest first. Steps of the same moment come in the order in which one leads to the next. */
function toTimeline(facts: TimelineFacts): TimelineStep[] {
  const memberships = new Map(facts.memberships.map((one) => [one.id, one]));
  const names = new Map(
    facts.people.flatMap(({ trainerId, displayName: name }) => (name === null ? [] : [[trainerId, name] as const])),
  );
  const nameOf = (trainerId: string) => names.get(trainerId) ?? trainerId;
  const groupOf = (id: number) => {
    const membership = memberships.get(id);
    return membership === undefined ? `membership ${id}` : `${membership.groupId} of ${membership.tool}`;
  };
  const steps = [
    ...facts.deliveries.map(toDelivered),
    ...toEvidence(facts, nameOf),
    ...facts.acts.map(toActed),
    ...facts.memberships.flatMap((membership) => toUnmet(membership, nameOf, groupOf(membership.id))),
    ...facts.intents.flatMap((intent) => toIntended(intent, groupOf(intent.membershipId))),
    ...facts.receipts.flatMap((receipt) => toReceived(receipt, groupOf(receipt.membershipId))),
  ];
  const masked = steps.map((step) => ({ ...step, says: sayInstants(maskText(step.says)) }));
  return masked.sort((a, b) => compareTexts(a.at, b.at) || kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
}

function toDelivered({ id, receivedAt, eventType, subjectId, install, state, failure }: ListedDelivery): TimelineStep {
  const why = failure === null ? '' : ` (${failure})`;
  return {
    at: receivedAt,
    kind: 'delivery',
    says: `Event ${eventType} about ${subjectId} received from ${install}: ${state}${why}`,
    deliveryId: id,
  };
}

function toActed({ id, at, actor, action, subject, origin }: Act): TimelineStep {
  return { at, kind: 'act', says: `${actor} ran "${action}" on ${subject}, from ${origin}`, actId: id };
}

type Happened = readonly [at: string | null, says: string];

/** @returns the id if no name is known */
type NameOf = (trainerId: string) => string;

function toEvidence(
  { deliveries, contracts, links, grants, participations }: TimelineFacts,
  nameOf: NameOf,
): TimelineStep[] {
  const happened: Happened[] = [
    ...contracts.flatMap((contract) => ofContract(contract, deliveries)),
    ...links.flatMap(ofLink),
    ...grants.map(({ install, revokedReceivedAt }): Happened => [revokedReceivedAt, `${install} disconnected`]),
    ...participations.map(
      ({ trainerId, contractId, seenAt }): Happened => [
        seenAt,
        `${nameOf(trainerId)} was last seen on contract ${contractId}`,
      ],
    ),
  ];
  return happened.flatMap(([at, says]) => (at === null ? [] : [{ at, kind: 'evidence' as const, says }]));
}

function ofContract(contract: ContractEvidence, deliveries: readonly ListedDelivery[]): Happened[] {
  const { contractId, startedEventAt, activeReadAt, endedEventAt, endedReadAt } = contract;
  const name = `Contract ${contractId}`;
  /** An event counts from when it was received. */
  const received = (type: string, at: string | null) => {
    const isIt = (one: ListedDelivery) =>
      one.eventType === type && one.subjectId === contractId && at !== null && one.receivedAt >= at;
    return deliveries.find(isIt)?.receivedAt ?? at;
  };
  return [
    [received('contract.started', startedEventAt), `${name} started, by an event of ${startedEventAt}`],
    [activeReadAt, `${name} was last listed as active`],
    [received('contract.ended', endedEventAt), `${name} ended, by an event of ${endedEventAt}`],
    [endedReadAt, `${name} was listed as ended`],
    [contract.endedByOperatorAt, `An operator ended contract ${contractId}`],
    [contract.reopenedAt, `An operator reopened contract ${contractId}`],
  ];
}

function ofLink({ linkId, externalProjectId, firstSeenAt, removedEventAt }: LinkEvidence): Happened[] {
  const name = `Link ${linkId} to project ${externalProjectId}`;
  return [
    [firstSeenAt, `${name} was first seen`],
    [removedEventAt, `${name} was removed`],
  ];
}

/** A change that is due, and not done yet. */
function toUnmet(
  { id, trainerId, wanted, unmetSince }: TimelineMembership,
  nameOf: NameOf,
  group: string,
): TimelineStep[] {
  if (unmetSince === null) return [];
  const says = `${nameOf(trainerId)} should be ${wanted ? 'in' : 'out of'} ${group}, but is not yet`;
  return [{ at: unmetSince, kind: 'wanted', says, membershipId: id }];
}

const looksFor: Record<ToolOperation, string> = { add: 'adding', remove: 'removing', update: 'updating' };
const callsOf: Record<ToolOperation, string> = {
  add: 'add the trainer',
  remove: 'remove the trainer',
  update: 'change the email of the account',
};

function toIntended({ membershipId, operation, wasFound, createdAt }: KnownIntent, group: string): TimelineStep[] {
  const found = wasFound ? 'was found' : 'was not found';
  return [
    {
      at: createdAt,
      kind: 'look',
      says: `Before ${looksFor[operation]}, the trainer ${found} in ${group}`,
      membershipId,
    },
    { at: createdAt, kind: 'call', says: `Call to ${group}: ${callsOf[operation]}`, membershipId },
  ];
}

const resultsOf: Record<ToolOperation, string> = { add: 'Add to', remove: 'Remove from', update: 'Update in' };

const outcomeWords: Record<ReceiptOutcome, string> = {
  added: 'added, and found when read back',
  invited: 'invited, and found when read back',
  removed: 'removed, and not found when read back',
  updated: 'updated, and confirmed when read back',
  already_member: 'already a member, so nothing was sent',
  already_absent: 'already absent, so nothing was sent',
  released: "not Gangway's to remove, so the member stays",
  protected: 'protected, so the account was not touched',
  kept_for_another: 'kept, because another trainer uses the account',
  unproven: 'sent, but not confirmed',
  failed: 'failed, and will be retried',
  refused: 'refused by the tool',
};

function toReceived(receipt: KnownReceipt, group: string): TimelineStep[] {
  const { membershipId, operation, outcome, toolStatus, message, createdAt, metAfterMs } = receipt;
  const status = toolStatus === null ? '' : ` (status ${toolStatus})`;
  const because = message === null ? '' : `: ${message}`;
  const says = `${resultsOf[operation]} ${group}: ${outcomeWords[outcome] ?? outcome}${status}${because}`;
  const done: TimelineStep = { at: createdAt, kind: 'receipt', says, membershipId };
  if (metAfterMs === null) return [done];
  const ms = Number(metAfterMs);
  const wanted = operation === 'remove' ? 'out of' : 'in';
  const since = new Date(Date.parse(createdAt) - ms).toISOString();
  return [
    { at: since, kind: 'wanted', says: `The trainer should be ${wanted} ${group}`, membershipId },
    { ...done, says: `${says}; ${(ms / 1000).toFixed(1)} s after it was wanted` },
  ];
}
