import { type Act, listActs } from '../db/audit-store.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import type { Printed } from './define-command.ts';
import type { StorageSession } from './session.ts';

/** `gangway audit`: what operators decided, and who of them. */

export interface AuditFilter {
  actor: string | undefined;
  before: number | undefined;
  limit: number;
}

export async function runAuditList(filter: AuditFilter, { storage }: StorageSession): Promise<Printed> {
  const acts = await listActs(storage.database, filter);
  return printActs(acts);
}

export function printActs(acts: readonly Act[]): Printed {
  return {
    data: { acts },
    text: () => formatList(acts, columns, 'No operator has decided anything.'),
  };
}

const columns: Columns<Act> = [
  ['id', ({ id }) => id],
  ['at', ({ at }) => at],
  ['who', ({ actor }) => actor],
  ['from', ({ origin }) => origin],
  ['what', ({ action }) => action],
  ['about', ({ subject }) => subject],
];
