import {
  type Evidence,
  emptyContract,
  emptyEvidence,
  emptyGrant,
  emptyLink,
  type GrantEvidence,
  toPair,
} from '../../domain/evidence.ts';
import { chunksOf } from '../../lib/chunks.ts';
import type { Contract } from '../../sources/source.ts';
import { evidenceOfRead } from './evidence-of-read.ts';
import { type InstallRead, type KnownInstall, withoutUnread } from './read-install.ts';

type Participants = InstallRead['participants'];
type Listing = Omit<InstallRead, 'participants'>;

/** By contract: the known trainers that are missing from an answer which lists other trainers. */
type Absent = ReadonlyMap<string, string[]>;

/** How many contracts, or links, one transaction takes. */
export const contractsAtOnce = 50;
const linksAtOnce = 10;

/**
 * The evidence of a whole read, as steps in the order in which they are applied. First comes what is
 * there, links before their contracts. Then comes what is gone, so that a trainer who moves has the
 * new access before the old one ends. Last comes that the contracts of a link are known. Absence ends
 * nothing: for links and trainers it is counted (docs/design.md, Evidence), and only if the read
 * could have shown them; a contract that is in no list is no evidence.
 */
export function evidenceOfInstall(read: InstallRead, known: KnownInstall): Evidence[] {
  const { participants } = read;
  const absent = findAbsent(participants, trainersOf(known));
  return [
    evidenceOfLinks(read),
    ...chunksOf(contractsThere(read, participants.keys()), contractsAtOnce).map((chunk) =>
      evidenceOfThere(read, chunk, participants, absent),
    ),
    ...evidenceOfGone(read, known, absent),
    ...evidenceOfKnownContracts(read),
  ];
}

/** The grant and the listed links. */
export function evidenceOfLinks({ install, beganAt, grant, links }: Listing): Evidence {
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
export function contractsThere({ contracts }: Listing, asked: Iterable<string>): (Contract | Unlisted)[] {
  const there: (Contract | Unlisted)[] = contracts.filter((contract) => !hasEnded(contract));
  const listed = new Set(there.map(({ id }) => id));
  for (const id of asked) if (!listed.has(id)) there.push({ id });
  return there;
}

/** The contracts that are there and their trainers. This step takes no access away. */
export function evidenceOfThere(
  { install, beganAt }: Listing,
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
    contracts: [...said.contracts, ...answered.map((id) => toAsked(install, id, beganAt))],
  };
}

/** What has ended, and what was absent. */
export function evidenceOfGone(read: Listing, known: KnownInstall, absent: Absent): Evidence[] {
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
      // Only in this step: if the read failed in between, the contract would not be asked for hours.
      contracts: chunk.map(([id]) => toAsked(install, id, beganAt)),
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
function findMoved({ install, beganAt, links, contracts }: Listing, known: KnownInstall) {
  const linkBy = new Map(links.map((link) => [link.id, link]));
  const listed = new Map(contracts.map((contract) => [contract.id, contract]));
  return known.contracts.flatMap(({ contractId, linkIds }) => {
    const { status, projectLinkIds = [], jobId = null } = listed.get(contractId) ?? {};
    if (status !== 'active' || projectLinkIds.length === 0) return [];
    const left = linkIds.filter((linkId) => {
      const link = linkBy.get(linkId);
      if (link === undefined || projectLinkIds.includes(linkId)) return false;
      return jobId === null || jobId !== link.jobId;
    });
    return left.map((linkId) => ({
      ...toPair(install, contractId, linkId, null),
      omissions: beganAt,
    }));
  });
}

/** Few links at a time, because each trainer on a newly known link is derived again. */
export function evidenceOfKnownContracts({ install, beganAt, links, isActiveWhole, unreadLinks }: Listing): Evidence[] {
  const knownLinks = isActiveWhole ? withoutUnread(links, unreadLinks) : [];
  return chunksOf(knownLinks, linksAtOnce).map((chunk) => ({
    ...emptyEvidence(),
    links: chunk.map(({ id }) => ({ ...emptyLink(install, id), contractsReadAt: beganAt })),
  }));
}

export function trainersOf({ contracts }: KnownInstall): ReadonlyMap<string, string[]> {
  return new Map(contracts.map(({ contractId, trainerIds }) => [contractId, trainerIds]));
}

/** An empty list of participants is no evidence. */
export function findAbsent(participants: Participants, known: ReadonlyMap<string, string[]>): Absent {
  const absent = new Map<string, string[]>();
  for (const [id, present] of participants) {
    const there = new Set(present.map(({ opentrainUserId }) => opentrainUserId));
    const missed = there.size === 0 ? [] : (known.get(id) ?? []).filter((one) => !there.has(one));
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
export function toAsked(install: string, contractId: string, participantsReadAt: string) {
  return { ...emptyContract(install, contractId), participantsReadAt };
}
