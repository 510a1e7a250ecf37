import { sql } from 'kysely';
import type { Database, Transaction } from '../../db/database.ts';
import { jsonTexts } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import { type Counts, countNames, type Day, type Observation, toCounts, type WorkedOn } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import { differs, sameDay } from '../due/due-store.ts';

// The SQL of imports that count, or counted.

export type ListedImport = Row<'usageImport'> & {
  state: 'counted' | 'undone';
  countedAt: string;
  people: number;
  firstDay: Day;
  lastDay: Day;
};

/** A line of an import, with what its import says of it. */
export interface ImportedEntry extends Omit<Row<'usageImportEntry'>, 'line'> {
  install: string;
  isUndone: boolean;
  /** When the import began to count. */
  countedAt: string;
}

interface ImportedSpan {
  trainerIds: readonly string[];
  fromDay: Day;
  /** An import that does not count yet, to be taken as if it had just begun to. */
  includesImport?: number | undefined;
}

/** What imports say of the work of these trainers since a day. */
export async function importedObservations(
  database: Database,
  db: Transaction,
  { trainerIds, fromDay, includesImport = 0 }: ImportedSpan,
): Promise<Observation[]> {
  const rows = await db
    .selectFrom('usageImportEntry')
    .innerJoin('usageImport', 'usageImport.id', 'usageImportEntry.importId')
    .selectAll('usageImportEntry')
    .select(['install', 'state', 'countedAt', 'keptUntil'])
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .where('day', '>=', fromDay)
    .where((eb) => eb.or([eb('state', 'in', ['counted', 'undone']), eb('usageImport.id', '=', includesImport)]))
    .execute();
  // An import that does not count yet is kept until a later instant than any other began to count.
  return layerEntries(
    rows.map((row) => ({ ...row, isUndone: row.state === 'undone', countedAt: row.countedAt ?? row.keptUntil })),
  );
}

/**
 * Pure: of each trainer, work and day, every count is that of the latest import that has it. A count that only undone
 * imports had is taken back.
 */
export function layerEntries(entries: readonly ImportedEntry[]): Observation[] {
  const byWork = Map.groupBy(entries, ({ install, workedOnBy, workedOnId, trainerId, day }) =>
    JSON.stringify([install, workedOnBy, workedOnId, trainerId, day]),
  );
  return [...byWork.values()].flatMap((ofWork) => {
    const latestFirst = ofWork.toSorted((a, b) => compare(b.countedAt, a.countedAt) || b.importId - a.importId);
    const [counted, undone] = [latestFirst.filter(isCounted), latestFirst.filter(({ isUndone }) => isUndone)];
    const counts = toCounts((name) => counted.find((one) => one[name] !== null)?.[name] ?? null);
    const takenBack = toCounts((name) =>
      counts[name] === null && undone.some((one) => one[name] !== null) ? 0 : null,
    );
    return [
      // An operator may have given all of it to a contract that gets nothing by itself.
      ...toObservations(
        counted,
        toCounts((name) => counts[name] ?? takenBack[name]),
      ),
      ...toObservations(undone, takenBack).map((one) => ({ ...one, isTakenBack: true })),
    ];
  });
}

function isCounted({ isUndone }: ImportedEntry): boolean {
  return !isUndone;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** One observation, by the latest of the entries that give a count; none where no entry does. */
function toObservations(latestFirst: readonly ImportedEntry[], counts: Counts): Observation[] {
  const latest = latestFirst.find((one) => countNames.some((name) => counts[name] !== null && one[name] !== null));
  if (latest === undefined) return [];
  const { importId, trainerId, day, countedAt } = latest;
  return [{ source: sourceOf(importId), workedOn: toWorkedOn(latest), trainerId, day, counts, seenAt: countedAt }];
}

export function sourceOf(importId: number): string {
  return `import:${importId}`;
}

export function toWorkedOn({
  install,
  workedOnBy,
  workedOnId,
}: Pick<ImportedEntry, 'install' | 'workedOnBy' | 'workedOnId'>): WorkedOn {
  return workedOnBy === 'contract'
    ? { by: 'contract', install, contractId: workedOnId }
    : { by: 'project', install, externalProjectId: workedOnId };
}

/** Imports that count or counted, the latest first. */
export async function listImports(
  { database }: Storage,
  { install, limit }: { install?: string | undefined; limit: number },
): Promise<ListedImport[]> {
  const all = selectListed(database.kysely).orderBy('countedAt', 'desc').orderBy('id', 'desc').limit(limit);
  return await (install === undefined ? all : all.where('install', '=', install)).execute();
}

/** An import that counts or counted. */
export async function findImport(db: Transaction, id: number): Promise<ListedImport | undefined> {
  return await selectListed(db).where('id', '=', id).executeTakeFirst();
}

function selectListed(db: Transaction) {
  return db.selectFrom('usageImport').selectAll().where('state', 'in', ['counted', 'undone']).$castTo<ListedImport>();
}

/** Days of an import that were sent for the last time, and whose later change an operator dismissed. */
export async function listDismissedDays(db: Transaction, importId: number, limit: number): Promise<Day[]> {
  const query = sql<{ day: Day }>`select distinct d.day from usage_import_entry e
    join usage_due d on d.trainer_id = e.trainer_id and d.day = e.day join usage_ledger l on ${sameDay}
    where e.import_id = ${importId} and d.is_open = 0 and l.closed_at is not null and ${differs}
    order by d.day limit ${limit}`;
  return (await query.execute(db)).rows.map(({ day }) => day);
}
