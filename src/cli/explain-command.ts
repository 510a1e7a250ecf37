import { loadAdapters } from '../adapters/load-adapters.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { AppError } from '../domain/errors.ts';
import { systemClock } from '../lib/clock.ts';
import { stripControl } from '../lib/strip-control.ts';
import type { Trouble } from '../lib/troubles.ts';
import { type Explanation, isToChange } from '../operator/explain.ts';
import { type ExplainedBudget, explainBudgets } from '../operator/explain-budgets.ts';
import { explainSubject } from '../operator/explain-subject.ts';
import { listWhatStopsAll } from '../operator/load-running.ts';
import type { Printed } from './define-command.ts';
import type { StorageSession } from './session.ts';
import { toBudgetText, toTroubleText } from './texts.ts';
import { loadRegistry } from './with-storage.ts';

/** `gangway explain`: each reason for a person's access, and what is missing for it. */
export async function runExplain({ subject }: { subject: string }, session: StorageSession): Promise<Printed> {
  const { config, storage } = session;
  const { installs } = await loadRegistry(session);
  const adapters = await loadAdapters(config);
  const clock = createDatabaseClock(storage.database, systemClock);
  await clock.correct();
  const ctx = { ...storage, config, installs, adapters, clock };
  const { explanations } = await explainSubject(ctx, subject);
  if (explanations.length === 0) {
    throw new AppError('not_found', 'Nothing is known of such a person or contract: no event named it, and no read');
  }
  const budgets = await explainBudgets(storage, subject);
  const troubles = explanations.some(isToChange) ? await listWhatStopsAll(ctx) : [];
  return printExplained({ explanations, budgets, troubles });
}

export interface Explained {
  explanations: Explanation[];
  budgets: ExplainedBudget[];
  /** What keeps the bridge from acting on it. */
  troubles: Trouble[];
}

export function printExplained({ explanations, budgets, troubles }: Explained): Printed {
  const parts = () => [...explanations.map(toText), ...budgets.map(toBudgetText), ...troubles.map(toTroubleText)];
  return { data: { explanations, budgets }, text: () => parts().join('\n\n') };
}

function toText(explanation: Explanation): string {
  const { trainerId, displayName, install, contractId, steps, action } = explanation;
  const name = displayName === null ? '' : ` (${displayName})`;
  const lines = [
    `${trainerId ?? 'no trainer'}${name}, by contract ${contractId} of ${install}`,
    ...steps.map(({ step, holds, says }) => `  ${holds ? 'yes' : 'no '}  ${step.padEnd(10)}  ${says}`),
    `  To do: ${action}`,
  ];
  // Names are chosen by strangers, and must not break the line.
  return lines.map(stripControl).join('\n');
}
