import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../../db/database.ts';
import { jsonTexts } from '../../db/json-list.ts';
import type { Row } from '../../db/schema.ts';
import { type Day, type Observation, toZeros, type WorkedOn } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import type { ObservationSource, TrainerPage } from '../read/observation-store.ts';

// The SQL of imports that count, or counted.

export interface ObservationFilter {
  install?: string | undefined;
  from: Day;
  to: Day;
  trainerIds?: readonly string[] | undefined;
}

export interface ListedImport {
  id: number;
  install: string;
  state: 'counted' | 'undone';
  fileName: string;
  actor: string;
  countedAt: string;
  undoneAt: string | null;
  lines: number;
  people: number;
  firstDay: Day;
  lastDay: Day;
}

type ObservedRow = Row<'usageImportEntry'> & Pick<Row<'usageImport'>, 'install' | 'countedAt'>;

const pageSize = 1000;

/**
 * What imports say of these days, both included: for each person, work and day, the latest import that was not
 * undone. Ordered by day, in pages, because there may be many.
 */
export function importedObservations(ctx: Storage, filter: ObservationFilter): AsyncGenerator<Observation> {
  return observationsIn(ctx, filter, countsMost);
}

/** The same of what was undone, where no other import says anything by now: with zeros. */
export async function* takenBackObservations(ctx: Storage, filter: ObservationFilter): AsyncGenerator<Observation> {
  for await (const observation of observationsIn(ctx, filter, wasUndoneLast)) {
    yield { ...observation, counts: toZeros(observation.counts), isTakenBack: true };
  }
}

/** The trainers in imports that count or counted, sorted by bytes. */
async function importedTrainerIds(ctx: Storage, { firstDay, after, limit }: TrainerPage): Promise<string[]> {
  const isAfter = after === undefined ? sql`true` : sql`e.trainer_id > ${after}`;
  const query = sql<{ id: string }>`select distinct e.trainer_id as id
        from usage_import_entry e join usage_import i on i.id = e.import_id
        where e.day >= ${firstDay} and ${isAfter} and i.state in ('counted', 'undone')
        order by e.trainer_id limit ${limit}`;
  return (await query.execute(ctx.database.kysely)).rows.map(({ id }) => id);
}

/** Imports that count or counted, the latest first. */
export async function listImports(
  ctx: Storage,
  { install, limit }: { install?: string | undefined; limit: number },
): Promise<ListedImport[]> {
  const all = ctx.database.kysely.selectFrom('usageImport').selectAll();
  const chosen = install === undefined ? all : all.where('install', '=', install);
  const rows = await chosen
    .where('state', 'in', ['counted', 'undone'])
    .orderBy('countedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  return rows.flatMap(toListed);
}

export async function findImport(tx: Transaction, id: number): Promise<ListedImport | undefined> {
  const all = tx.selectFrom('usageImport').selectAll();
  const row = await all.where('id', '=', id).executeTakeFirst();
  return row === undefined ? undefined : toListed(row)[0];
}

/** @returns whether it was staged whole and still waited; it counts from now on */
export async function markImportCounted(tx: Transaction, id: number, now: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('usageImport')
    .set({ state: 'counted', countedAt: now })
    .where('id', '=', id)
    .where('state', '=', 'staging')
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** @returns whether it counted; it no longer does */
export async function markImportUndone(tx: Transaction, id: number, now: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('usageImport')
    .set({ state: 'undone', undoneAt: now })
    .where('id', '=', id)
    .where('state', '=', 'counted')
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

async function readPage(
  ctx: Storage,
  filter: ObservationFilter,
  after: ObservedRow | undefined,
  isMeant: RawBuilder<boolean>,
) {
  const { install, from, to, trainerIds } = filter;
  const ofInstall = install === undefined ? sql`true` : sql`i.install = ${install}`;
  const ofTrainers = trainerIds === undefined ? sql`true` : sql`e.trainer_id in ${jsonTexts(ctx.database, trainerIds)}`;
  const isAfter =
    after === undefined
      ? sql`true`
      : sql`(e.day, e.worked_on_by, e.worked_on_id, e.trainer_id, e.import_id)
          > (${after.day}, ${after.workedOnBy}, ${after.workedOnId}, ${after.trainerId}, ${after.importId})`;
  const query = sql<ObservedRow>`select e.*, i.install, i.counted_at
      from usage_import_entry e join usage_import i on i.id = e.import_id
      where e.day >= ${after?.day ?? from} and e.day <= ${to} and ${ofInstall} and ${isAfter}
      and ${ofTrainers} and ${isMeant}
      order by e.day, e.worked_on_by, e.worked_on_id, e.trainer_id, e.import_id limit ${pageSize}`;
  return (await query.execute(ctx.database.kysely)).rows;
}

async function* observationsIn(ctx: Storage, filter: ObservationFilter, isMeant: RawBuilder<boolean>) {
  for (let last: ObservedRow | undefined; ; ) {
    const rows = await readPage(ctx, filter, last, isMeant);
    yield* rows.map(toObservation);
    last = rows.at(-1);
    if (rows.length < pageSize) return;
  }
}

/**
 * Whether the entry `e` of the import `i` counts, and no later one of the same person, work and
 * day does. Projects of two installs may have the same id.
 */
export const countsMost: RawBuilder<boolean> = sql<boolean>`i.state = 'counted' and not exists (
  select 1 from usage_import_entry later join usage_import j on j.id = later.import_id
  where later.day = e.day and later.worked_on_by = e.worked_on_by and later.worked_on_id = e.worked_on_id
  and later.trainer_id = e.trainer_id and j.install = i.install and j.state = 'counted'
  and (j.counted_at, j.id) > (i.counted_at, i.id))`;

/** The same for undone imports: of several, the one that counted last. */
const wasUndoneLast: RawBuilder<boolean> = sql<boolean>`i.state = 'undone' and not exists (
  select 1 from usage_import_entry other join usage_import j on j.id = other.import_id
  where other.day = e.day and other.worked_on_by = e.worked_on_by and other.worked_on_id = e.worked_on_id
  and other.trainer_id = e.trainer_id and j.install = i.install
  and (j.state = 'counted'
    or (j.state = 'undone' and (j.counted_at, j.id) > (i.counted_at, i.id))))`;

function toObservation(row: ObservedRow): Observation {
  const { importId, trainerId, day, seconds, tasks, labels, countedAt } = row;
  return {
    source: `import:${importId}`,
    workedOn: toWorkedOn(row),
    trainerId,
    day,
    counts: { seconds, tasks, labels },
    seenAt: String(countedAt),
  };
}

function toWorkedOn({ install, workedOnBy, workedOnId }: ObservedRow): WorkedOn {
  return workedOnBy === 'contract'
    ? { by: 'contract', install, contractId: workedOnId }
    : { by: 'project', install, externalProjectId: workedOnId };
}

/** Empty where the import never counted. */
function toListed(row: Omit<Row<'usageImport'>, 'id' | 'lines'> & { id: number; lines: number }) {
  const { id, install, state, fileName, actor, countedAt, undoneAt, lines } = row;
  if ((state !== 'counted' && state !== 'undone') || countedAt === null) return [];
  const [people, firstDay, lastDay] = [row.people ?? 0, row.firstDay ?? '', row.lastDay ?? ''];
  return [
    { id, install, state, fileName, actor, countedAt, undoneAt, lines, people, firstDay, lastDay },
  ] satisfies ListedImport[];
}

const lastDay = '9999-12-31';

/** The imports as a source of work, beside the tools. */
export function createImportObservations(ctx: Storage): ObservationSource {
  return {
    async list(firstDay, trainerIds) {
      const observations: Observation[] = [];
      const wanted = { from: firstDay, to: lastDay, trainerIds };
      for (const some of [importedObservations(ctx, wanted), takenBackObservations(ctx, wanted)]) {
        for await (const observation of some) observations.push(observation);
      }
      return observations;
    },

    trainerIds: (page) => importedTrainerIds(ctx, page),
  };
}
