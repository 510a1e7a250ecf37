import { Command, InvalidArgumentError } from 'commander';
import { type BudgetState, budgetStates } from '../domain/budget.ts';
import { type ContractStatus, contractStatuses } from '../domain/evidence-status.ts';
import { createContractStore } from '../evidence/contract-store.ts';
import { createEvidenceStore } from '../evidence/evidence-store.ts';
import { type ContractDecision, decideContract } from '../operator/decide-contract.ts';
import { type ListedContract, listContracts } from '../operator/list-contracts.ts';
import { toPercent } from './budget-text.ts';
import { decidedBy, print, withStorage } from './command-context.ts';
import { toCount } from './count-option.ts';
import { refuseUnknownInstall } from './pick-install.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** `gangway contracts`: what is known of them, and an operator's word about one. */
export function createContractsCommand(terminal: Terminal): Command {
  return new Command('contracts')
    .description('what is known of the contracts, and your own word about one')
    .addCommand(createListCommand(terminal), { isDefault: true })
    .addCommand(createDecideCommand(terminal, 'end'))
    .addCommand(createDecideCommand(terminal, 'reopen'));
}

interface ListOptions {
  install?: string;
  status?: ContractStatus;
  suspects?: true;
  budget?: BudgetState;
  limit: number;
  json?: true;
}

function createListCommand(terminal: Terminal): Command {
  return new Command('list')
    .description('list contracts and how they stand')
    .option('--install <name>', 'only those of one install')
    .option('--status <status>', `only those that are ${contractStatuses.join(', ')}`, (value) =>
      toOneOf(contractStatuses, value),
    )
    .option('--budget <state>', `only those whose budget is ${budgetStates.join(', ')}`, (value) =>
      toOneOf(budgetStates, value),
    )
    .option('--suspects', 'only those that are no longer listed, although nothing says they ended')
    .option('--limit <count>', 'how many at most', toCount, 500)
    .option('--json', 'print one JSON object instead of a table')
    .action(({ json, ...filter }: ListOptions, command: Command) =>
      withStorage(command, async (storage, config) => {
        const contracts = await listContracts(storage.database, filter);
        if (contracts.length === 0) {
          await refuseUnknownInstall(command, storage, config, filter.install);
        }
        print(terminal, json, { contracts }, () => toTable(contracts));
      }),
    );
}

function toOneOf<Word extends string>(words: readonly Word[], value: string): Word {
  const word = words.find((known) => known === value);
  if (word === undefined) throw new InvalidArgumentError(`one of: ${words.join(', ')}`);
  return word;
}

function toTable(contracts: ListedContract[]): string {
  if (contracts.length === 0) return 'There are no such contracts.';
  return formatTable(
    [
      'install',
      'contract',
      'status',
      { title: 'people', align: 'right' } as const,
      'budget',
      { title: 'used', align: 'right' } as const,
      'last heard',
      'suspect since',
      'title',
    ],
    contracts.map((contract) => [
      contract.install,
      contract.contractId,
      contract.status,
      contract.people,
      contract.budgetState ?? '',
      toPercent(contract.consumedFraction),
      contract.heardAt ?? '',
      contract.suspectSince ?? '',
      contract.title ?? '',
    ]),
  );
}

const descriptions: Record<ContractDecision, string> = {
  end: 'say that a contract has ended, where the marketplace cannot be heard',
  reopen: 'say that a contract goes on, whatever was delivered about its end',
};

function createDecideCommand(terminal: Terminal, decision: ContractDecision): Command {
  return new Command(decision)
    .description(descriptions[decision])
    .argument('<contract>', 'its id')
    .option('--install <name>', 'of which install, where several have one of this id')
    .option('--json', 'print one JSON object instead of text')
    .action((id: string, { install, json }: { install?: string; json?: true }, command: Command) =>
      withStorage(command, async ({ database, box, memberships }) => {
        const contracts = createContractStore(database);
        const evidence = createEvidenceStore(database, box);
        const deps = { database, contracts, evidence, memberships, by: decidedBy() };
        const contract = await decideContract(deps, decision, id, install);
        const decided = { install: contract.install, contractId: id, decision };
        const said = decision === 'end' ? 'has ended' : 'goes on';
        print(terminal, json, decided, () => `The contract ${id} counts as one that ${said}.`);
      }),
    );
}
