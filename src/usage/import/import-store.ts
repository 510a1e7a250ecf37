import { type RawBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../../db/database.ts';
import { jsonTexts } from '../../db/json-list.ts';
import type { Row } from '../../db/schema.ts';
import { type Day, type Observation, toZeros, type WorkedOn } from '../../domain/usage.ts';
import type { ObservationSource, TrainerPage } from '../read/observation-store.ts';

/** The SQL of imports that count, or counted. */
export interface ImportStore {
  /**
   * What imports say of these days, both included: for each person, work and day, the latest import that was not
   * undone. Ordered by day, in pages, because there may be many.
   */
  observations(filter: ObservationFilter): AsyncGenerator<Observation>;
  /** The same of what was undone, where no other import says anything by now: with zeros. */
  takenBack(filter: ObservationFilter): AsyncGenerator<Observation>;
  /** The trainers in imports that count or counted, sorted by bytes. */
  trainerIds(page: TrainerPage): Promise<string[]>;
  /** Imports that count or counted, the latest first. */
  list(filter: { install?: string | undefined; limit: number }): Promise<ListedImport[]>;
  find(tx: Transaction, id: number): Promise<ListedImport | undefined>;
  /** @returns whether it was staged whole and still waited; it counts from now on */
  count(tx: Transaction, id: number, now: string): Promise<boolean>;
  /** @returns whether it counted; it no longer does */
  undo(tx: Transaction, id: number, now: string): Promise<boolean>;
}

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

export function createImportStore(database: Pick<Database, 'kysely' | 'dialect'>): ImportStore {
  const { kysely } = database;
  async function page(filter: ObservationFilter, after: ObservedRow | undefined, isMeant: RawBuilder<boolean>) {
    const { install, from, to, trainerIds } = filter;
    const ofInstall = install === undefined ? sql`true` : sql`i.install = ${install}`;
    const ofTrainers = trainerIds === undefined ? sql`true` : sql`e.trainer_id in ${jsonTexts(database, trainerIds)}`;
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
    return (await query.execute(kysely)).rows;
  }

  async function* all(filter: ObservationFilter, isMeant: RawBuilder<boolean>) {
    for (let last: ObservedRow | undefined; ; ) {
      const rows = await page(filter, last, isMeant);
      yield* rows.map(toObservation);
      last = rows.at(-1);
      if (rows.length < pageSize) return;
    }
  }

  return {
    observations: (filter) => all(filter, countsMost),

    async *takenBack(filter) {
      for await (const observation of all(filter, wasUndoneLast)) {
        yield { ...observation, counts: toZeros(observation.counts), isTakenBack: true };
      }
    },

    async trainerIds({ firstDay, after, limit }) {
      const isAfter = after === undefined ? sql`true` : sql`e.trainer_id > ${after}`;
      const query = sql<{ id: string }>`select distinct e.trainer_id as id
        from usage_import_entry e join usage_import i on i.id = e.import_id
        where e.day >= ${firstDay} and ${isAfter} and i.state in ('counted', 'undone')
        order by e.trainer_id limit ${limit}`;
      return (await query.execute(kysely)).rows.map(({ id }) => id);
    },

    async list({ install, limit }) {
      const all = kysely.selectFrom('usageImport').selectAll();
      const chosen = install === undefined ? all : all.where('install', '=', install);
      const rows = await chosen
        .where('state', 'in', ['counted', 'undone'])
        .orderBy('countedAt', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute();
      return rows.flatMap(toListed);
    },

    async find(tx, id) {
      const all = tx.selectFrom('usageImport').selectAll();
      const row = await all.where('id', '=', id).executeTakeFirst();
      return row === undefined ? undefined : toListed(row)[0];
    },

    async count(tx, id, now) {
      const { numUpdatedRows } = await tx
        .updateTable('usageImport')
        .set({ state: 'counted', countedAt: now })
        .where('id', '=', id)
        .where('state', '=', 'staging')
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },

    async undo(tx, id, now) {
      const { numUpdatedRows } = await tx
        .updateTable('usageImport')
        .set({ state: 'undone', undoneAt: now })
        .where('id', '=', id)
        .where('state', '=', 'counted')
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
  };
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
export function createImportObservations(database: Database): ObservationSource {
  const imports = createImportStore(database);
  return {
    async list(firstDay, trainerIds) {
      const observations: Observation[] = [];
      const wanted = { from: firstDay, to: lastDay, trainerIds };
      for (const some of [imports.observations(wanted), imports.takenBack(wanted)]) {
        for await (const observation of some) observations.push(observation);
      }
      return observations;
    },

    trainerIds: (page) => imports.trainerIds(page),
  };
}
