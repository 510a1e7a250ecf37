import { countNames } from '../domain/usage.ts';
import { decideHeldWork } from '../operator/decide-work.ts';
import { describeHeld } from '../usage/compare/describe-difference.ts';
import { type ListedHeld, listHeld } from '../usage/show/decide-held.ts';
import { type Lowering, listLowerings } from '../usage/show/list-lowerings.ts';
import type { Printed } from './define-command.ts';
import type { ServicesSession } from './session.ts';
import { type Columns, formatChange, formatList } from './table.ts';
import { decidedBy } from './with-storage.ts';

export interface HeldOptions {
  id: string | undefined;
  /** The contract; without one held work is discarded. */
  assign: string | undefined;
}

/** `gangway usage held`: work that is not reported before an operator decides, and what was lowered. */
export async function runUsageHeld({ id, assign }: HeldOptions, session: ServicesSession): Promise<Printed> {
  return id === undefined ? await list(session) : await decide(session, id, assign);
}

async function list({ services }: ServicesSession): Promise<Printed> {
  const held = await Array.fromAsync(listHeld(services));
  const lowerings = await listLowerings(services, [...services.installs.keys()]);
  return printHeld(held, lowerings);
}

export function printHeld(held: readonly ListedHeld[], lowerings: readonly Lowering[]): Printed {
  return {
    data: { held, lowerings },
    text: () => [formatList(held, columns, 'No work is held.'), ...toLowered(lowerings)].join('\n\n'),
  };
}

async function decide({ services }: ServicesSession, id: string, contractId: string | undefined): Promise<Printed> {
  await decideHeldWork(services, decidedBy(), id, contractId ?? null);
  return printDecision(id, contractId);
}

export function printDecision(id: string, contractId: string | undefined): Printed {
  const decision = contractId === undefined ? 'discarded' : `assigned to ${contractId}`;
  return { data: { id, contractId: contractId ?? null }, text: () => `${id} is ${decision}.` };
}

const columns: Columns<ListedHeld> = [
  ['id', ({ id }) => id],
  ['source', ({ observation }) => observation.source],
  ['worked on', ({ observation }) => Object.values(observation.workedOn).at(-1)],
  ['trainer', ({ observation }) => observation.trainerId],
  ['day', ({ observation }) => observation.day],
  ...countNames.map((name) => [name, ({ observation }: ListedHeld) => observation.counts[name], 'right'] as const),
  ['because', ({ reason }) => describeHeld[reason]],
  ['contracts', ({ contracts }) => contracts.map(({ contractId }) => contractId).join(' ')],
];

function toLowered(lowerings: readonly Lowering[]): string[] {
  if (lowerings.length === 0) return [];
  const table = formatList(lowerings, loweringColumns, '');
  const waits = lowerings.some(({ state }) => state === 'held');
  const advice = 'What waits is reported by "gangway usage report --accept-lowered", all of it or --contract <id>.';
  return [`Days with less than was reported:\n${table}`, ...(waits ? [advice] : [])];
}

const loweringColumns: Columns<Lowering> = [
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId],
  ['trainer', ({ trainerId }) => trainerId],
  ['day', ({ day }) => day],
  ...countNames.map(
    (name) => [name, ({ from, to }: Lowering) => formatChange(from[name], to?.[name] ?? null), 'right'] as const,
  ),
  ['', ({ state }) => (state === 'held' ? 'waits for you' : 'reported')],
  ['since', ({ since }) => since],
];
