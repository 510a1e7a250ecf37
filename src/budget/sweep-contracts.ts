import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Database, inTransaction } from '../db/database.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { revokedGrant, statusOfLink } from '../domain/evidence-status.ts';
import { chunksOf } from '../lib/chunks.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import { type Judgement, judgeContract, type SweptContract } from './judge-contract.ts';
import type { SweepStore } from './sweep-store.ts';

export interface SweepContractsDeps {
  database: Database;
  sweeps: SweepStore;
  clock: Clock;
}

const pageSize = 500;
/** Keeps write transactions short. */
const writeSize = 100;

/** Searches the evidence for budgets to read, page by page, so that others are not blocked. */
export async function sweepContracts(deps: SweepContractsDeps, signal: AbortSignal): Promise<void> {
  const grants = Map.groupBy(await deps.sweeps.grants(), ({ install }) => install);
  const isGranted = (install: string) => revokedGrant(grants.get(install) ?? []) === null;
  let after: ContractKey | null = null;
  while (!signal.aborted) {
    const page = await deps.sweeps.page(after, pageSize);
    await judgePage(deps, page, isGranted);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last;
    await nextTurn();
  }
}

async function judgePage(
  { database, sweeps, clock }: SweepContractsDeps,
  page: readonly SweptContract[],
  isGranted: (install: string) => boolean,
): Promise<void> {
  const [first, last] = [page[0], page.at(-1)];
  if (first === undefined || last === undefined) return;
  const links = await sweeps.linksOf(first, last);
  const linked = new Set(links.filter((one) => statusOfLink(one) === 'live').map(keyOf));
  const judged = page.map((contract) => {
    const isLinked = linked.has(keyOf(contract));
    const footing = { isLinked, isGranted: isGranted(contract.install) };
    return { contract, judgement: judgeContract(contract, footing) };
  });
  const those = (wanted: Judgement) =>
    judged.flatMap(({ contract, judgement }) => (judgement === wanted ? [contract] : []));
  for (const part of chunksOf(those('read'), writeSize)) {
    await inTransaction(database, (tx) => sweeps.want(tx, part, toInstant(clock.now())));
  }
  for (const part of chunksOf(those('end'), writeSize)) {
    await inTransaction(database, async (tx) => {
      for (const contract of part) await sweeps.end(tx, contract);
    });
  }
}

function keyOf({ install, contractId }: ContractKey): string {
  return JSON.stringify([install, contractId]);
}
