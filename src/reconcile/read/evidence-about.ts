import { type Evidence, emptyEvidence } from '../../domain/evidence.ts';

/** Of all that was read, what decides about some trainers, on these contracts and on those it names. */
export function evidenceAbout(
  steps: readonly Evidence[],
  trainerIds: readonly string[],
  contractIds: readonly string[],
): Evidence {
  const trainers = new Set(trainerIds);
  const isAbout = ({ trainerId }: { trainerId: string }) => trainers.has(trainerId);
  const participations = steps.flatMap((step) => step.participations.filter(isAbout));
  const contracts = new Set([...contractIds, ...participations.map((one) => one.contractId)]);
  const isOn = ({ contractId }: { contractId: string }) => contracts.has(contractId);
  return {
    ...emptyEvidence(),
    participations,
    grants: steps.flatMap((step) => step.grants),
    links: steps.flatMap((step) => step.links),
    contracts: steps.flatMap((step) => step.contracts.filter(isOn)),
    pairs: steps.flatMap((step) => step.pairs.filter(isOn)),
    people: steps.flatMap((step) => step.people.filter(isAbout)),
  };
}
