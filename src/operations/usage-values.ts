import { z } from 'zod';
import { countNames, type HeldReason } from '../domain/usage.ts';
import { describeDifference, describeHeld } from '../usage/due/describe-due.ts';
import type { WhyDifferent } from '../usage/due/explain-day.ts';
import type { Column } from './show.ts';
import { formatChange } from './text-table.ts';
import { day, instant, text } from './values.ts';

/** What the operations about work in the tools are made of. */

export const Counts = z
  .object({ seconds: z.number().nullable(), tasks: z.number().nullable(), labels: z.number().nullable() })
  .meta({ id: 'Counts', description: 'Null is not zero: a source does not have that count.' });

export type Counts = z.output<typeof Counts>;

export const WorkedOn = z
  .union([
    z.object({ by: z.literal('scope'), tool: z.string(), scope: z.string() }),
    z.object({ by: z.literal('project'), install: z.string(), externalProjectId: z.string() }),
    z.object({ by: z.literal('contract'), install: z.string(), contractId: z.string() }),
  ])
  .meta({ id: 'WorkedOn' });

const heldReasons = Object.keys(describeHeld) as HeldReason[];
export const heldReason = z.enum(heldReasons);

const differences = Object.keys(describeDifference) as WhyDifferent[];
export const whyDifferent = z.enum(differences);

export const HeldWork = z
  .object({
    id: z.string().describe('To decide about it.'),
    install: z.string().describe('Empty if it may be of several, or of none.'),
    trainerId: z.string(),
    day,
    source: z.string(),
    workedOn: WorkedOn,
    counts: Counts,
    reason: heldReason,
    contracts: z
      .array(z.object({ install: z.string(), contractId: z.string() }))
      .describe('Contracts that it may be of.'),
    state: z.enum(['held', 'discarded', 'assigned']),
    since: instant.describe('Since when it is in this state.'),
  })
  .meta({ id: 'HeldWork', description: 'Work that is not reported before an operator decides, or was decided.' });

export type HeldWork = z.output<typeof HeldWork>;

export const dayKey = { install: z.string(), contractId: z.string(), trainerId: z.string(), day };

/** Which days of work. */
export const wantedDays = {
  install: text.optional().describe('Only this install.'),
  contract: text.optional().describe('Only this contract.'),
  from: day.optional().describe('No day before this one: 2026-03-15.'),
  to: day.optional().describe('No day after this one.'),
};

/** One column for each count. */
export function countColumns<Row>(cell: (row: Row, name: keyof Counts) => string | number | null): Column<Row>[] {
  return countNames.map((name) => [name, (row: Row) => cell(row, name), { align: 'right' }]);
}

/** A column for each count that shows how it changes. */
export function changeColumns<Row>(from: (row: Row) => Counts | null, to: (row: Row) => Counts | null): Column<Row>[] {
  return countColumns((row, name) => formatChange(from(row)?.[name] ?? null, to(row)?.[name] ?? null));
}
