import { type Counts, countNames } from '../domain/usage.ts';
import type { Columns } from '../operations/show.ts';
import { formatChange, formatList } from '../operations/text-table.ts';
import { type HeldList, type ListedHeld, listHeldWork } from '../operator/held-work.ts';
import { decideHeld, decideLate, takeBackDecision } from '../usage/due/decide-held.ts';
import { describeHeld } from '../usage/due/describe-due.ts';
import type { LateDay, Lowering } from '../usage/due/list-late.ts';
import type { Printed } from './define-command.ts';
import type { ServicesSession } from './session.ts';
import { decidedBy } from './with-storage.ts';

export interface HeldOptions {
  id: string | undefined;
  /** The contract that held work is of. */
  assign: string | undefined;
  discard: boolean;
  takeBack: boolean;
  /** A late day. */
  send: boolean;
  dismiss: boolean;
  /** Whether to list what was decided, instead of what waits. */
  decided: boolean;
}

/** What is done about one id. */
export type HeldDecision = 'assigned' | 'discarded' | 'taken_back' | 'sent' | 'dismissed';

/** `gangway usage held`: work that is not reported before an operator decides, and what was lowered. */
export async function runUsageHeld(options: HeldOptions, { services }: ServicesSession): Promise<Printed> {
  const { id, assign, decided } = options;
  if (id === undefined) return printHeld(await listHeldWork(services, decided), decided);
  const decision = decisionOf(options);
  const by = decidedBy();
  if (decision === 'taken_back') await takeBackDecision(services, by, id);
  else if (decision === 'sent' || decision === 'dismissed') await decideLate(services, by, id, decision === 'sent');
  else await decideHeld(services, by, id, assign ?? null);
  return printDecision(id, options);
}

export function decisionOf({ assign, takeBack, send, dismiss }: HeldOptions): HeldDecision {
  if (takeBack) return 'taken_back';
  if (send) return 'sent';
  if (dismiss) return 'dismissed';
  return assign === undefined ? 'discarded' : 'assigned';
}

export function printDecision(id: string, options: HeldOptions): Printed {
  const decision = decisionOf(options);
  const { assign: contractId = null } = options;
  const says: Record<HeldDecision, string> = {
    assigned: `${id} is assigned to ${contractId}. The next report sends it.`,
    discarded: `${id} is discarded. It is never reported; --take-back undoes that.`,
    taken_back: `The decision about ${id} is taken back.`,
    sent: `The next report sends ${id} once more.`,
    dismissed: `${id} is dismissed. What was reported stays.`,
  };
  return { data: { id, decision, contractId }, text: () => says[decision] };
}

export function printHeld({ held, late, lowerings }: HeldList, isDecided: boolean): Printed {
  const none = isDecided ? 'No work was discarded or assigned.' : 'No work is held.';
  return {
    data: { held, late, lowerings },
    text: () =>
      [formatList(held, isDecided ? decidedColumns : columns, none), ...toLate(late), ...toLowered(lowerings)].join(
        '\n\n',
      ),
  };
}

const columns: Columns<ListedHeld> = [
  ['id', ({ id }) => id],
  ['source', ({ source }) => source],
  ['worked on', ({ workedOn }) => Object.values(workedOn).at(-1)],
  ['trainer', ({ trainerId }) => trainerId],
  ['day', ({ day }) => day],
  ...countNames.map((name) => [name, ({ counts }: ListedHeld) => counts[name], { align: 'right' }] as const),
  ['because', ({ reason }) => describeHeld[reason]],
  ['contracts', ({ contracts }) => contracts.map(({ contractId }) => contractId).join(' ')],
];

const decidedColumns: Columns<ListedHeld> = [
  ...columns,
  ['decision', ({ state }) => state],
  ['at', ({ since }) => since],
];

function toLate(late: readonly LateDay[]): string[] {
  if (late.length === 0) return [];
  const table = formatList(late, [['id', ({ id }) => id], ...changeColumns], '');
  return [`Days that changed after they were sent for the last time:\n${table}`];
}

function toLowered(lowerings: readonly Lowering[]): string[] {
  if (lowerings.length === 0) return [];
  const table = formatList(lowerings, loweringColumns, '');
  const waits = lowerings.some(({ state }) => state === 'held');
  const advice = 'What waits is reported by "gangway usage report --accept-lowered", all of it or --contract <id>.';
  return [`Days with less than was reported:\n${table}`, ...(waits ? [advice] : [])];
}

/** A day on a contract, and how its counts change. */
type ChangedDay = Pick<Lowering, 'install' | 'contractId' | 'trainerId' | 'day' | 'from' | 'to'>;

const changeColumns: Columns<ChangedDay> = [
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId],
  ['trainer', ({ trainerId }) => trainerId],
  ['day', ({ day }) => day],
  ...countNames.map(
    (name) => [name, ({ from, to }: ChangedDay) => changeOf(name, from, to), { align: 'right' }] as const,
  ),
];

function changeOf(name: keyof Counts, from: Counts, to: Counts | null): string {
  return formatChange(from[name], to?.[name] ?? null);
}

const loweringColumns: Columns<Lowering> = [
  ...changeColumns,
  ['', ({ state }) => (state === 'held' ? 'waits for you' : 'reported')],
  ['since', ({ since }) => since],
];
