import {
  type Evidence,
  emptyContract,
  emptyEvidence,
  emptyGrant,
  emptyLink,
} from '../domain/evidence.ts';
import { evidenceOfRead } from './evidence-of-read.ts';
import type { InstallRead, KnownInstall } from './read-install.ts';

/** So many contracts are one transaction. */
const chunkSize = 50;

/**
 * What reading a whole install adds, as steps to be applied in their order: links before what hangs
 * on them, and that a link's contracts are known only after they are. Absence adds no end, only a
 * count of absences (design section 2), and only where the read could have shown it.
 */
export function evidenceOfInstall(read: InstallRead, known: KnownInstall): Evidence[] {
  return [
    grantAndLinks(read),
    ...contractSteps(read, known),
    { ...emptyEvidence(), links: contractsKnownOf(read) },
  ];
}

function grantAndLinks(read: InstallRead): Evidence {
  const { install, beganAt, grant, links, missingLinkIds } = read;
  const isActive = grant.status === 'ACTIVE';
  const said = evidenceOfRead({ ...read, links, contracts: [], participants: new Map() });
  const missing = isActive ? missingLinkIds : [];
  return {
    ...said,
    grants: isActive ? [{ ...emptyGrant(install, grant.id), activeReadAt: beganAt }] : [],
    links: [
      ...said.links,
      ...missing.map((linkId) => ({ ...emptyLink(install, linkId), absences: beganAt })),
    ],
  };
}

function contractSteps(read: InstallRead, known: KnownInstall): Evidence[] {
  const { install, beganAt, contracts, participants, isActiveWhole, missingContractIds } = read;
  const listed = new Map(contracts.map((contract) => [contract.id, contract]));
  const trainersOf = new Map(
    known.contracts.map(({ contractId, trainerIds }) => [contractId, trainerIds]),
  );
  const ids = [...new Set([...listed.keys(), ...participants.keys()])];
  const steps: Evidence[] = [];
  for (let begin = 0; begin < ids.length; begin += chunkSize) {
    const chunk = ids.slice(begin, begin + chunkSize);
    const asked = chunk.filter((id) => participants.has(id));
    const said = evidenceOfRead({
      ...{ install, beganAt, links: [] },
      contracts: chunk.flatMap((id) => listed.get(id) ?? []),
      participants: new Map(asked.map((id) => [id, participants.get(id) ?? []])),
    });
    const missing = isActiveWhole ? chunk.filter((id) => missingContractIds.includes(id)) : [];
    steps.push({
      ...said,
      contracts: [
        ...said.contracts,
        ...asked.map((id) => ({ ...emptyContract(install, id), participantsReadAt: beganAt })),
        ...missing.map((id) => ({ ...emptyContract(install, id), absences: beganAt })),
      ],
      participations: [
        ...said.participations,
        ...asked.flatMap((id) => absentFrom(read, id, trainersOf.get(id) ?? [])),
      ],
    });
  }
  return steps;
}

/** A list with nobody on it is no evidence about anybody. */
function absentFrom({ install, beganAt, participants }: InstallRead, id: string, known: string[]) {
  const present = new Set(participants.get(id)?.map(({ opentrainUserId }) => opentrainUserId));
  if (present.size === 0) return [];
  return known
    .filter((trainerId) => !present.has(trainerId))
    .map((trainerId) => ({ install, contractId: id, trainerId, seenAt: null, absences: beganAt }));
}

function contractsKnownOf({ install, beganAt, links, isActiveWhole }: InstallRead) {
  if (!isActiveWhole) return [];
  return links.map(({ id }) => ({ ...emptyLink(install, id), contractsReadAt: beganAt }));
}
