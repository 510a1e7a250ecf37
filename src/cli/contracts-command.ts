import type { BudgetState } from '../domain/budget.ts';
import type { ContractEvidence } from '../domain/evidence.ts';
import type { ContractStatus } from '../domain/evidence-status.ts';
import { stripControl } from '../lib/strip-control.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import { type ContractDecision, decideContract } from '../operator/decide-contract.ts';
import { type EndedAtMarketplace, endAtMarketplace } from '../operator/end-at-marketplace.ts';
import { type ListedContract, listContracts } from '../operator/list-contracts.ts';
import type { EndApproval } from '../sources/source.ts';
import { askTyped } from './ask.ts';
import type { Printed } from './define-command.ts';
import { refuseUnknownInstall } from './pick-install.ts';
import type { StorageSession } from './session.ts';
import type { Terminal } from './terminal.ts';
import { toPercent } from './texts.ts';
import { decidedBy, loadRegistry } from './with-storage.ts';

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
  const contracts = await listContracts(session.storage, { install, status, budget, suspects, limit });
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
  ['people', ({ people }) => people, { align: 'right' }],
  ['budget', ({ budgetState }) => budgetState],
  ['used', ({ consumedFraction }) => toPercent(consumedFraction), { align: 'right' }],
  ['last heard', ({ heardAt }) => heardAt],
  ['suspect since', ({ suspectSince }) => suspectSince],
  ['title', ({ title }) => title],
];

export interface NamedContract {
  contract: string;
  install: string | undefined;
}

export interface ContractEnd extends NamedContract {
  atMarketplace: boolean;
  confirm: string | undefined;
  /** Not to wait for the decision. */
  leave: boolean;
}

export async function runContractsEnd(named: ContractEnd, session: StorageSession): Promise<Printed> {
  if (!named.atMarketplace) return await decide('end', named, session);
  const { storage, terminal } = session;
  const { sources } = await loadRegistry(session);
  const options = {
    follows: !named.leave,
    confirm: (contract: ContractEvidence) => confirmEnd(terminal, contract, named.confirm),
    onApproval: (approval: EndApproval) => void terminal.stderr.write(`${toApprovalText(approval)}\n`),
  };
  return printEndedAtMarketplace(
    await endAtMarketplace({ ...storage, sources }, decidedBy(), named, options, terminal.signal),
  );
}

/** Its id must be typed, as nothing here can take the end back. */
async function confirmEnd(
  terminal: Terminal,
  { install, contractId, title }: ContractEvidence,
  given: string | undefined,
): Promise<boolean> {
  if (given !== undefined) return given === contractId;
  const name = stripControl(title ?? 'without a title');
  const lines = [
    `This ends the contract ${contractId} (${name}) of ${install} at the marketplace, for good.`,
    'Its trainer loses access when the marketplace lists it as ended. Where money is funded, a person there must confirm.',
  ];
  if (terminal.stdin.isTTY === true) terminal.stderr.write(`${lines.join('\n')}\n`);
  return (await askTyped(terminal, 'Type the id of the contract to go on:')) === contractId;
}

function toApprovalText({ id, url, expiresAt }: EndApproval): string {
  const until = expiresAt === null ? '' : ` until ${expiresAt}`;
  return `The approval ${id} waits${until} for a person at the marketplace: ${url ?? 'see your account there'}`;
}

function printEndedAtMarketplace(ended: EndedAtMarketplace): Printed {
  const { install, contractId, outcome } = ended;
  const texts = {
    ended: `The marketplace has ended the contract ${contractId}. A running "gangway start" reads ${install} now; without one: gangway reconcile --install ${install}`,
    pending: `The end of the contract ${contractId} waits for a person at the marketplace. The same command follows it again.`,
    declined: `A person at the marketplace has declined the end of the contract ${contractId}: it goes on.`,
    expired: `No person at the marketplace has confirmed the end of the contract ${contractId} in time: it goes on.`,
  };
  const statuses = { ended: 0, pending: 2, declined: 1, expired: 1 } as const;
  return { data: ended, text: () => texts[outcome], status: statuses[outcome] };
}

export async function runContractsReopen(named: NamedContract, session: StorageSession): Promise<Printed> {
  return await decide('reopen', named, session);
}

async function decide(
  decision: ContractDecision,
  { contract: id, install: named }: NamedContract,
  { storage }: StorageSession,
): Promise<Printed> {
  const { install } = await decideContract(storage, decidedBy(), decision, id, named);
  return printDecided({ install, contractId: id, decision });
}

export interface DecidedContract {
  install: string;
  contractId: string;
  decision: ContractDecision;
}

export function printDecided(decided: DecidedContract): Printed {
  const { install, contractId, decision } = decided;
  const texts = {
    end: `The contract ${contractId} counts as one that has ended.`,
    reopen: `The contract ${contractId} counts as one that goes on. A running "gangway start" reads ${install} now.`,
  };
  return {
    data: decided,
    text: () => texts[decision],
  };
}
