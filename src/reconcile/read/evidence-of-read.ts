import {
  type Evidence,
  emptyContract,
  emptyEvidence,
  emptyLink,
  toPair,
  versionOfRead,
} from '../../domain/evidence.ts';
import type { Contract, Link, Participant } from '../../sources/source.ts';

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
