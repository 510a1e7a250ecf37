import type { BudgetState } from '../domain/budget.ts';
import type { ContractStatus } from '../domain/evidence-status.ts';
import { createContractStore } from '../evidence/contract-store.ts';
import { createEvidenceStore } from '../evidence/evidence-store.ts';
import { type ContractDecision, decideContract } from '../operator/decide-contract.ts';
import { type ListedContract, listContracts } from '../operator/list-contracts.ts';
import type { Printed } from './define-command.ts';
import { refuseUnknownInstall } from './pick-install.ts';
import type { StorageSession } from './session.ts';
import { type Columns, formatList } from './table.ts';
import { toPercent } from './texts.ts';
import { decidedBy } from './with-storage.ts';

/** `gangway contracts`: what is known of the contracts, and an operator's decision about one. */

export interface ContractFilter {
  install: string | undefined;
  status: ContractStatus | undefined;
  budget: BudgetState | undefined;
  suspects: boolean;
  limit: number;
}

export async function runContractsList(filter: ContractFilter, session: StorageSession): Promise<Printed> {
  const { install, status, budget, suspects, limit } = filter;
  const contracts = await listContracts(session.storage.database, { install, status, budget, suspects, limit });
  if (contracts.length === 0) await refuseUnknownInstall(session, install);
  return printContracts(contracts);
}

export function printContracts(contracts: readonly ListedContract[]): Printed {
  return { data: { contracts }, text: () => formatList(contracts, columns, 'There are no such contracts.') };
}

const columns: Columns<ListedContract> = [
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId],
  ['status', ({ status }) => status],
  ['people', ({ people }) => people, 'right'],
  ['budget', ({ budgetState }) => budgetState],
  ['used', ({ consumedFraction }) => toPercent(consumedFraction), 'right'],
  ['last heard', ({ heardAt }) => heardAt],
  ['suspect since', ({ suspectSince }) => suspectSince],
  ['title', ({ title }) => title],
];

export interface NamedContract {
  contract: string;
  install: string | undefined;
}

export async function runContractsEnd(named: NamedContract, session: StorageSession): Promise<Printed> {
  return await decide('end', named, session);
}

export async function runContractsReopen(named: NamedContract, session: StorageSession): Promise<Printed> {
  return await decide('reopen', named, session);
}

async function decide(
  decision: ContractDecision,
  { contract: id, install: named }: NamedContract,
  { storage: { database, box, memberships } }: StorageSession,
): Promise<Printed> {
  const contracts = createContractStore(database);
  const evidence = createEvidenceStore(database, box);
  const deps = { database, contracts, evidence, memberships, by: decidedBy() };
  const { install } = await decideContract(deps, decision, id, named);
  return printDecided({ install, contractId: id, decision });
}

export interface DecidedContract {
  install: string;
  contractId: string;
  decision: ContractDecision;
}

export function printDecided(decided: DecidedContract): Printed {
  const said = decided.decision === 'end' ? 'has ended' : 'goes on';
  return {
    data: decided,
    text: () => `The contract ${decided.contractId} counts as one that ${said}.`,
  };
}
