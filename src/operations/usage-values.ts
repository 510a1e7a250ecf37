import { z } from 'zod';
import type { ContractKey } from '../domain/evidence.ts';
import { countNames, type HeldReason } from '../domain/usage.ts';
import { sayCount } from '../lib/text.ts';
import { describeDifference, describeHeld, type WhyDifferent } from '../usage/due/explain-day.ts';
import type { Column } from './show.ts';
import { formatChange } from './text-table.ts';
import { contractKey, day, instant, maybeText, named, text } from './values.ts';

export const Counts = named(
  { id: 'Counts', description: 'Null is not zero: a source does not have that count.' },
  { seconds: z.number().nullable(), tasks: z.number().nullable(), labels: z.number().nullable() },
);

export type Counts = z.output<typeof Counts>;

/** Where a tool counts work. */
export const ofScope = { tool: z.string(), scope: z.string() };

export const WorkedOn = z
  .union([
    z.object({ by: z.literal('scope'), ...ofScope }),
    z.object({ by: z.literal('project'), install: z.string(), externalProjectId: z.string() }),
    z.object({ by: z.literal('contract'), ...contractKey }),
  ])
  .meta({ id: 'WorkedOn' });

const heldReasons = Object.keys(describeHeld) as HeldReason[];
export const heldReason = z.enum(heldReasons);

const differences = Object.keys(describeDifference) as WhyDifferent[];
export const whyDifferent = z.enum(differences);

export const HeldWork = named(
  { id: 'HeldWork', description: 'Work that is not reported before an operator decides, or was decided.' },
  {
    id: z.string().describe('The id by which an operator decides about it.'),
    install: z.string().describe('Empty if it may be of several, or of none.'),
    trainerId: z.string(),
    displayName: maybeText,
    day,
    source: z.string(),
    workedOn: WorkedOn,
    counts: Counts,
    reason: heldReason,
    contracts: z.array(z.object(contractKey)).describe('Contracts that it may be of.'),
    state: z.enum(['held', 'discarded', 'assigned']),
    since: instant.describe('Since when it is in this state.'),
  },
);

export type HeldWork = z.output<typeof HeldWork>;

/** The work of a trainer on a contract on one day. */
export const trainerDay = { ...contractKey, trainerId: z.string(), day, displayName: maybeText };

export const wantedDays = {
  install: text.optional().describe('Only this install.'),
  contract: text.optional().describe('Only this contract.'),
  from: day.optional().describe('The first day, such as 2026-03-15.'),
  to: day.optional().describe('The last day.'),
};

export type WantedDays = { [Name in keyof typeof wantedDays]?: string | undefined };

/** Counts of work as people read them. */
export function sayCounts(counts: Counts | null): string {
  const known = countNames.filter((name) => counts?.[name] != null);
  return known.length === 0 ? 'nothing' : known.map((name) => sayWork(name, counts?.[name] ?? 0)).join(', ');
}

export function sayWork(name: keyof Counts, count: number): string {
  if (name !== 'seconds') return sayCount(count, name === 'tasks' ? 'task' : 'label');
  return count < 3600 ? `${toTenth(count / 60)} min` : `${toTenth(count / 3600)} h`;
}

/** To a tenth, but never to nothing. */
function toTenth(value: number): string {
  const rounded = Math.round(value * 10) / 10;
  return value > 0 && rounded === 0 ? '< 0.1' : String(rounded);
}

/** The page of the console with the work on a contract. */
export function workPath({ install, contractId }: ContractKey): string {
  return `/work/contracts/${encodeURIComponent(contractId)}?${new URLSearchParams({ install })}`;
}

/** One column for each count. */
export function countColumns<Row>(cell: (row: Row, name: keyof Counts) => string | number | null): Column<Row>[] {
  return countNames.map((name) => [name, (row: Row) => cell(row, name), { align: 'right' }]);
}

/** One column for each count, with its change. */
export function changeColumns<Row>(from: (row: Row) => Counts | null, to: (row: Row) => Counts | null): Column<Row>[] {
  return countColumns((row, name) => formatChange(from(row)?.[name] ?? null, to(row)?.[name] ?? null));
}
