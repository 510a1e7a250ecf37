import type { ContractEvidence, Evidence, LinkEvidence, ParticipationEvidence } from '../../domain/evidence.ts';
import { leftSince, statusOfContract, statusOfLink } from '../../domain/evidence-status.ts';

export const missedKinds = ['start', 'end', 'link', 'link_removed', 'joined', 'left'] as const;

/** `joined` and `left`: a trainer of a contract that goes on, of which no event tells. */
export type MissedKind = (typeof missedKinds)[number];

/** A change that a reading has found, and that no delivery had said before. */
export interface MissedEvent {
  kind: MissedKind;
  contractId: string | null;
  linkId: string | null;
  trainerId: string | null;
}

/**
 * Pure: which changes no delivery had said, of the rows that a reading has changed. Trainers of a contract of which the
 * start or the end was missed are not named apart.
 *
 * @param changed only the rows from which something else follows now
 * @param beganAt when the reading began
 */
export function findMissed({ contracts, links, participations }: Evidence, beganAt: string): MissedEvent[] {
  const ofContracts = contracts.flatMap((one) => missedOfContract(one) ?? []);
  const named = new Set(contracts.map(({ contractId }) => contractId));
  return [
    ...ofContracts,
    ...links.flatMap((link) => missedOfLink(link, beganAt) ?? []),
    ...participations.filter(({ contractId }) => !named.has(contractId)).map(toMissedTrainer),
  ];
}

function missedOfContract(contract: ContractEvidence): MissedEvent | null {
  const { contractId, startedEventAt, endedEventAt, endedByOperatorAt } = contract;
  const status = statusOfContract(contract);
  const of = { contractId, linkId: null, trainerId: null };
  if (status === 'ended') {
    return endedEventAt === null && endedByOperatorAt === null ? { kind: 'end', ...of } : null;
  }
  if (status === 'disputed') return { kind: 'start', ...of };
  return status === 'active' && startedEventAt === null ? { kind: 'start', ...of } : null;
}

function missedOfLink(link: LinkEvidence, beganAt: string): MissedEvent | null {
  const { linkId, firstSeenAt } = link;
  const of = { contractId: null, linkId, trainerId: null };
  const status = statusOfLink(link);
  if (status === 'absent') return { kind: 'link_removed', ...of };
  return status === 'live' && firstSeenAt === beganAt ? { kind: 'link', ...of } : null;
}

function toMissedTrainer(participation: ParticipationEvidence): MissedEvent {
  const { contractId, trainerId } = participation;
  return { kind: leftSince(participation) === null ? 'joined' : 'left', contractId, linkId: null, trainerId };
}
