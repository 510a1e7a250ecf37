import { Command } from 'commander';
import { loadAdapters } from '../adapters/load-adapters.ts';
import { AppError } from '../domain/errors.ts';
import { createLinkRouter } from '../engine/link-router.ts';
import { stripControl } from '../lib/strip-control.ts';
import { type Explanation, explain } from '../operator/explain.ts';
import { explainBudgets } from '../operator/explain-budgets.ts';
import { createExplainStore } from '../operator/explain-store.ts';
import { toBudgetText } from './budget-text.ts';
import { loadRegistry, print, withStorage } from './command-context.ts';
import type { Terminal } from './terminal.ts';

/** `gangway explain`: every reason for somebody's access, or what is missing of it. */
export function createExplainCommand(terminal: Terminal): Command {
  return new Command('explain')
    .description('say why somebody is in a tool or is not, from contract to login')
    .argument('<person|contract>', "a trainer's id or work address, or a contract's id")
    .option('--json', 'print one JSON object instead of text')
    .action((subject: string, { json }: { json?: true }, command: Command) =>
      withStorage(command, async (storage, config) => {
        const { database, box } = storage;
        const { installs } = await loadRegistry({ config }, storage);
        const adapters = await loadAdapters(config);
        const routeLink = createLinkRouter(installs, adapters);
        const bearing = await createExplainStore(database, box).load(subject);
        const { managedDomains } = config.marketplace;
        const rules = { installs, adapters, routeLink, managedDomains };
        const explanations = explain(bearing, rules);
        if (explanations.length === 0) {
          throw new AppError(
            'not_found',
            'Nothing is known of such a person or contract: no event named it, and no read',
          );
        }
        const budgets = await explainBudgets(database, subject);
        print(terminal, json, { explanations, budgets }, () =>
          [...explanations.map(toText), ...budgets.map(toBudgetText)].join('\n\n'),
        );
      }),
    );
}

function toText(explanation: Explanation): string {
  const { trainerId, displayName, install, contractId, steps, action } = explanation;
  const name = displayName === null ? '' : ` (${displayName})`;
  const lines = [
    `${trainerId ?? 'nobody'}${name}, by contract ${contractId} of ${install}`,
    ...steps.map(
      ({ step, holds, says }) => `  ${holds ? 'yes' : 'no '}  ${step.padEnd(10)}  ${says}`,
    ),
    `  To do: ${action}`,
  ];
  // What strangers named must not break the line it stands in.
  return lines.map(stripControl).join('\n');
}
