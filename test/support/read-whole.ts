import type { Evidence } from '../../src/domain/evidence.ts';
import { chunksOf } from '../../src/lib/lists.ts';
import type { SourceReader } from '../../src/marketplace/source.ts';
import {
  contractsAtOnce,
  contractsThere,
  evidenceOfGone,
  evidenceOfKnownContracts,
  evidenceOfLinks,
  evidenceOfThere,
  findAbsent,
} from '../../src/reconcile/read/evidence-of-install.ts';
import {
  askParticipants,
  type KnownInstall,
  listInstall,
  type Participants,
  type ReadLists,
  type StoredContract,
} from '../../src/reconcile/read/read-install.ts';

/** Everything that the marketplace answered about one install. */
export type InstallRead = ReadLists & { participants: Participants };

/** As a `KnownInstall` has them. */
export function byContract(contracts: readonly StoredContract[]): KnownInstall['contracts'] {
  return new Map(contracts.map((contract) => [contract.contractId, contract]));
}

/** Reads all of an install before anything of it is used. */
export async function readInstall(
  source: SourceReader,
  install: string,
  known: KnownInstall,
  beganAt: string,
  signal: AbortSignal,
): Promise<InstallRead> {
  const { unlisted: _, toAsk, ...lists } = await listInstall(source, install, known, beganAt, signal);
  return { ...lists, participants: await askParticipants(source, [...toAsk], signal) };
}

/** The evidence of such a read, in the order in which it is applied. */
export function evidenceOfInstall(read: InstallRead, known: KnownInstall): Evidence[] {
  const { participants } = read;
  const absent = findAbsent(participants, known);
  return [
    evidenceOfLinks(read),
    ...chunksOf(contractsThere(read, participants.keys()), contractsAtOnce).map((chunk) =>
      evidenceOfThere(read, chunk, participants, absent),
    ),
    ...evidenceOfGone(read, known, absent),
    ...evidenceOfKnownContracts(read),
  ];
}
