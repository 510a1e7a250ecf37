import {
  type Evidence,
  emptyContract,
  emptyEvidence,
  emptyGrant,
  emptyLink,
  type GrantEvidence,
  toPair,
  versionOfRead,
} from '../../domain/evidence.ts';
import { chunksOf } from '../../lib/lists.ts';
import type { Contract, Link, Participant, SourceReader, UnreadLink } from '../../marketplace/source.ts';
import { addDoubts, type Doubts, doubtsOfListing } from './doubts.ts';
import {
  askParticipants,
  type KnownInstall,
  listInstall,
  type Participants,
  type ReadLists,
  withoutUnread,
} from './read-install.ts';

/** What was read of one install. Only what it contains is evidence; nothing follows from absence. */
export interface MarketplaceRead {
  install: string;
  /** When its first request was sent. The answers may be as old as that. */
  beganAt: string;
  links: Link[];
  contracts: Contract[];
  /** By the id of the contract. */
  participants: ReadonlyMap<string, Participant[]>;
}

/** The evidence of a read. */
export function evidenceOfRead({ install, beganAt, links, contracts, participants }: MarketplaceRead): Evidence {
  const version = versionOfRead(beganAt);
  const people = [...participants].flatMap(([contractId, present]) =>
    present.map((participant) => ({ contractId, participant })),
  );
  return {
    ...emptyEvidence(),
    links: links.map((link) => ({
      ...emptyLink(install, link.id),
      firstSeenAt: beganAt,
      seenAt: beganAt,
      externalProjectId: link.externalProjectId,
      externalProjectName: link.externalProjectName,
      externalProjectUrl: link.externalProjectUrl ?? null,
      provisioningMode: link.provisioningMode,
      provisioningModeVersion: link.provisioningMode === null ? null : version,
      jobId: link.jobId ?? null,
    })),
    contracts: contracts.map(({ id, status, title, startDate = null, endDate = null }) => ({
      ...emptyContract(install, id),
      activeReadAt: status === 'active' ? beganAt : null,
      endedReadAt: status === 'ended' ? beganAt : null,
      title,
      titleVersion: title === null ? null : version,
      startDate,
      startDateVersion: startDate === null ? null : version,
      endDate,
      endDateVersion: endDate === null ? null : version,
    })),
    pairs: contracts.flatMap(({ id, projectLinkIds }) =>
      projectLinkIds.map((linkId) => toPair(install, id, linkId, beganAt)),
    ),
    participations: people.map(({ contractId, participant }) => ({
      install,
      contractId,
      trainerId: participant.opentrainUserId,
      seenAt: beganAt,
      absences: null,
    })),
    people: people.map(({ participant: { opentrainUserId, displayName, workEmail, addressMissing = null } }) => ({
      install,
      trainerId: opentrainUserId,
      displayName,
      displayNameVersion: displayName === null ? null : version,
      workEmail,
      workEmailVersion: workEmail === null ? null : version,
      addressMissing,
      addressMissingVersion: addressMissing === null ? null : version,
    })),
  };
}

/** By contract: the known trainers that are missing from an answer which lists other trainers. */
type Absent = ReadonlyMap<string, string[]>;

/** How many contracts, or links, one transaction takes. */
export const contractsAtOnce = 50;
const linksAtOnce = 10;

/** The result of a read. */
export interface ReadSummary {
  /** How many contracts were listed. */
  contracts: number;
  doubts: Doubts;
  unreadLinks: readonly UnreadLink[];
}

export interface ReadStep {
  evidence: Evidence;
  /** Those of the lists, and of who was asked for until now. */
  doubts: Doubts;
}

/**
 * Reads an install, and yields its evidence in the order in which it is applied. First comes what is there, links before
 * their contracts. Then comes what is gone, so that a trainer who moves has the new access before the old one ends. Last
 * comes that the contracts of a link are known. Absence ends nothing: for links and trainers it is counted
 * (docs/rules.md, Evidence), and only if the read could have shown them; a contract that is in no list is no evidence.
 *
 * To ask for the participants of many contracts takes hours, so the evidence must neither fill the memory nor be lost if
 * a later request fails. A read that fails has taken nothing away, because what is gone comes after the last request.
 *
 * @throws AppError if a request failed
 */
export async function* readInSteps(
  source: SourceReader,
  install: string,
  known: KnownInstall,
  beganAt: string,
  signal: AbortSignal,
): AsyncGenerator<ReadStep, ReadSummary> {
  const listing = await listInstall(source, install, known, beganAt, signal);
  const { toAsk, unreadLinks } = listing;
  const doubts = doubtsOfListing(listing, known);
  const allAbsent = new Map<string, string[]>();
  const toStep = (evidence: Evidence): ReadStep => ({ evidence, doubts });
  yield toStep(evidenceOfLinks(listing));
  for (const chunk of chunksOf(contractsThere(listing, toAsk), contractsAtOnce)) {
    const ids = chunk.map(({ id }) => id).filter((id) => toAsk.has(id));
    const participants = await askParticipants(source, ids, signal);
    addDoubts(doubts, ids, participants);
    const absent = findAbsent(participants, known);
    for (const [id, trainerIds] of absent) allAbsent.set(id, trainerIds);
    yield toStep(evidenceOfThere(listing, chunk, participants, absent));
  }
  for (const evidence of evidenceOfGone(listing, known, allAbsent)) yield toStep(evidence);
  for (const evidence of evidenceOfKnownContracts(listing)) yield toStep(evidence);
  return { contracts: listing.contracts.length, doubts, unreadLinks };
}

/** The grant and the listed links. */
export function evidenceOfLinks({ install, beganAt, grant, links }: ReadLists): Evidence {
  const isActive = grant.status === 'ACTIVE';
  return {
    ...evidenceOfRead({ install, beganAt, links, contracts: [], participants: new Map() }),
    grants: isActive ? [toActive(install, grant.id, beganAt)] : [],
  };
}

/** A known contract that is in no list. */
interface Unlisted {
  id: string;
  status?: never;
}

/** Contracts that have not ended, and every other contract whose participants are asked for. */
export function contractsThere({ contracts }: ReadLists, asked: Iterable<string>): (Contract | Unlisted)[] {
  const there: (Contract | Unlisted)[] = contracts.filter((contract) => !hasEnded(contract));
  const listed = new Set(there.map(({ id }) => id));
  for (const id of asked) if (!listed.has(id)) there.push({ id });
  return there;
}

/** The contracts that have not ended, and their trainers. This step takes no access away. */
export function evidenceOfThere(
  { install, beganAt }: ReadLists,
  there: readonly (Contract | Unlisted)[],
  participants: Participants,
  absent: Absent,
): Evidence {
  const asked = there.flatMap(({ id }) => {
    const present = participants.get(id);
    return present === undefined ? [] : [[id, present] as const];
  });
  const said = evidenceOfRead({
    install,
    beganAt,
    links: [],
    participants: new Map(asked),
    contracts: there.filter((one) => one.status !== undefined),
  });
  // An empty answer says nothing, so the contract is asked for again in the next read.
  const answered = asked.filter(([id, present]) => present.length > 0 && !absent.has(id)).map(([id]) => id);
  return {
    ...said,
    contracts: [...said.contracts, ...answered.map((id) => toParticipantsRead(install, id, beganAt))],
  };
}

/** What has ended, and what was absent. */
export function evidenceOfGone(read: ReadLists, known: KnownInstall, absent: Absent): Evidence[] {
  const { install, beganAt, grant, contracts, missingLinkIds } = read;
  const absences = beganAt;
  const missedLinks = grant.status === 'ACTIVE' ? missingLinkIds : [];
  const links = missedLinks.map((linkId) => ({ ...emptyLink(install, linkId), absences }));
  return [
    ...(links.length > 0 ? [{ ...emptyEvidence(), links }] : []),
    ...chunksOf(contracts.filter(hasEnded), contractsAtOnce).map((chunk) =>
      evidenceOfRead({ install, beganAt, links: [], contracts: chunk, participants: new Map() }),
    ),
    ...chunksOf(findMoved(read, known), contractsAtOnce).map((pairs) => ({ ...emptyEvidence(), pairs })),
    ...chunksOf([...absent], contractsAtOnce).map((chunk) => ({
      ...emptyEvidence(),
      // Only in this step: if the read failed in between, the participants would not be read again for hours.
      contracts: chunk.map(([id]) => toParticipantsRead(install, id, beganAt)),
      participations: chunk.flatMap(([contractId, trainerIds]) =>
        trainerIds.map((trainerId) => ({ install, contractId, trainerId, seenAt: null, absences })),
      ),
    })),
  ];
}

/**
 * The pairs that a contract has left: it is listed on links of another job, and not on this link. A
 * contract without links in the list, or without one link of the same job, is no evidence.
 */
function findMoved({ install, beganAt, links, contracts }: ReadLists, known: KnownInstall) {
  const linkBy = new Map(links.map((link) => [link.id, link]));
  // A contract in both lists has ended.
  const endedIds = new Set(contracts.filter(hasEnded).map(({ id }) => id));
  return contracts.flatMap(({ id, status, projectLinkIds, jobId = null }) => {
    if (status !== 'active' || endedIds.has(id) || projectLinkIds.length === 0) return [];
    const left = (known.contracts.get(id)?.linkIds ?? []).filter((linkId) => {
      const link = linkBy.get(linkId);
      if (link === undefined || projectLinkIds.includes(linkId)) return false;
      return jobId === null || jobId !== link.jobId;
    });
    return left.map((linkId) => ({
      ...toPair(install, id, linkId, null),
      omissions: beganAt,
    }));
  });
}

/** Few links at a time, because each trainer on a newly known link is derived again. */
export function evidenceOfKnownContracts({
  install,
  beganAt,
  links,
  isActiveWhole,
  unreadLinks,
}: ReadLists): Evidence[] {
  const knownLinks = isActiveWhole ? withoutUnread(links, unreadLinks) : [];
  return chunksOf(knownLinks, linksAtOnce).map((chunk) => ({
    ...emptyEvidence(),
    links: chunk.map(({ id }) => ({ ...emptyLink(install, id), contractsReadAt: beganAt })),
  }));
}

/** An empty list of participants is no evidence. */
export function findAbsent(participants: Participants, known: KnownInstall): Absent {
  const absent = new Map<string, string[]>();
  for (const [id, present] of participants) {
    const there = new Set(present.map(({ opentrainUserId }) => opentrainUserId));
    const missed = there.size === 0 ? [] : (known.contracts.get(id)?.trainerIds ?? []).filter((one) => !there.has(one));
    if (missed.length > 0) absent.set(id, missed);
  }
  return absent;
}

function toActive(install: string, grantId: string, beganAt: string): GrantEvidence {
  return { ...emptyGrant(install, grantId), firstActiveReadAt: beganAt, activeReadAt: beganAt };
}

function hasEnded({ status }: Contract): boolean {
  return status === 'ended';
}

/** Records that the participants of a contract were read. */
export function toParticipantsRead(install: string, contractId: string, participantsReadAt: string) {
  return { ...emptyContract(install, contractId), participantsReadAt };
}
