import type { Evidence } from '../../domain/evidence.ts';
import { chunksOf } from '../../lib/chunks.ts';
import type { SourceReader, UnreadLink } from '../../sources/source.ts';
import { addDoubts, type Doubts, doubtsOfListing } from './doubts.ts';
import {
  contractsAtOnce,
  contractsThere,
  evidenceOfGone,
  evidenceOfKnownContracts,
  evidenceOfLinks,
  evidenceOfThere,
  findAbsent,
  trainersOf,
} from './evidence-of-install.ts';
import { askParticipants, type KnownInstall, listInstall } from './read-install.ts';

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
 * Reads an install and yields the evidence during the read, the same and in the same order as
 * `evidenceOfInstall`. To ask for the participants of many contracts takes hours, so the evidence must
 * neither fill the memory nor be lost if a later request fails. A read that fails has taken nothing
 * away, because what is gone comes after the last request.
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
  const knownTrainers = trainersOf(known);
  const allAbsent = new Map<string, string[]>();
  const toStep = (evidence: Evidence): ReadStep => ({ evidence, doubts });
  yield toStep(evidenceOfLinks(listing));
  for (const chunk of chunksOf(contractsThere(listing, toAsk), contractsAtOnce)) {
    const ids = chunk.map(({ id }) => id).filter((id) => toAsk.has(id));
    const participants = await askParticipants(source, ids, signal);
    addDoubts(doubts, ids, participants);
    const absent = findAbsent(participants, knownTrainers);
    for (const [id, trainerIds] of absent) allAbsent.set(id, trainerIds);
    yield toStep(evidenceOfThere(listing, chunk, participants, absent));
  }
  for (const evidence of evidenceOfGone(listing, known, allAbsent)) yield toStep(evidence);
  for (const evidence of evidenceOfKnownContracts(listing)) yield toStep(evidence);
  return { contracts: listing.contracts.length, doubts, unreadLinks };
}
