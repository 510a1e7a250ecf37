import { systemClock } from '../lib/clock.ts';
import { type BudgetEnd, type Forecast, forecast, type Leaving } from '../operator/forecast.ts';
import type { WaitingMember } from '../operator/list-waiting.ts';
import type { Printed } from './define-command.ts';
import { sayWaitedFor } from './members-command.ts';
import type { StorageSession } from './session.ts';
import { type Columns, formatList } from './table.ts';
import { toPercent } from './texts.ts';

/** `gangway forecast`: who is to leave, which budgets run out, and who waits for what. */
export async function runForecast(
  { days, limit }: { days: number; limit: number },
  { config, storage }: StorageSession,
): Promise<Printed> {
  const { managedDomains } = config.marketplace;
  const wish = { now: systemClock.now(), days, limit, managedDomains, hasMail: config.mail !== undefined };
  const expected = await forecast(storage.database, wish);
  return printForecast(expected);
}

export function printForecast(expected: Forecast): Printed {
  return { data: expected, text: () => toText(expected) };
}

function toText({ until, leaving, budgets, waiting }: Forecast): string {
  return [
    `Until ${until}, if nothing else is heard:`,
    formatList(leaving, leavingColumns, 'No trainer is to leave.'),
    formatList(budgets, budgetColumns, 'No budget runs out at the pace of the last week.'),
    formatList(waiting, waitingColumns, 'No trainer waits.'),
  ].join('\n\n');
}

const leavingColumns: Columns<Leaving> = [
  ['leaves', ({ at }) => at ?? 'when the plan is approved'],
  ['trainer', ({ trainerId }) => trainerId],
  ['name', ({ displayName }) => displayName],
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['install', ({ install }) => install],
  ['why', ({ why }) => why],
];

const budgetColumns: Columns<BudgetEnd> = [
  ['used up', ({ at }) => at],
  ['contract', ({ contractId }) => contractId],
  ['title', ({ title }) => title],
  ['install', ({ install }) => install],
  ['used now', ({ consumedFraction }) => toPercent(consumedFraction), 'right'],
];

const waitingColumns: Columns<WaitingMember> = [
  ['trainer', ({ trainerId }) => trainerId],
  ['name', ({ displayName }) => displayName],
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['waits for', sayWaitedFor],
];
