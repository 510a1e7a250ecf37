import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { jsonTexts } from '../db/json-list.ts';
import type { Row } from '../db/schema.ts';

/** The only SQL about the guidelines of projects. */
export interface GuidelineStore {
  list(): Promise<GuidelineRow[]>;
  find(at: ProjectOfTool): Promise<GuidelineRow | undefined>;
  /** Writes what a look has found, with what else has changed. */
  note(found: LookedAt, changes?: Partial<Row<'guideline'>>): Promise<void>;
  /** The same, in a transaction of the caller. */
  noteIn(tx: Transaction, found: LookedAt, changes: Partial<Row<'guideline'>>): Promise<void>;
  /** Nothing is published for the projects of an install but these. */
  noteClaims(install: string, claimed: readonly string[], at: string): Promise<void>;
}

export type GuidelineRow = Row<'guideline'>;

export interface ProjectOfTool {
  tool: string;
  project: string;
}

export type LookedAt = Pick<
  Row<'guideline'>,
  'tool' | 'project' | 'install' | 'lookedAt' | 'state' | 'since' | 'says' | 'failures'
>;

const neverWritten = {
  manualId: null,
  publicationNumber: null,
  sentDigest: null,
  wordsDigest: null,
  beforeDigest: null,
  heldDigest: null,
  writtenAt: null,
};

export function createGuidelineStore(database: Database): GuidelineStore {
  const { kysely } = database;

  async function noteIn(tx: Transaction, found: LookedAt, changes: Partial<Row<'guideline'>>): Promise<void> {
    await tx
      .insertInto('guideline')
      .values({ ...neverWritten, ...found, ...changes })
      .onConflict((conflict) => conflict.columns(['tool', 'project']).doUpdateSet({ ...found, ...changes }))
      .execute();
  }

  return {
    list: () => kysely.selectFrom('guideline').selectAll().orderBy('tool').orderBy('project').execute(),

    find: ({ tool, project }) =>
      kysely
        .selectFrom('guideline')
        .selectAll()
        .where('tool', '=', tool)
        .where('project', '=', project)
        .executeTakeFirst(),

    note: (found, changes = {}) => inTransaction(database, (tx) => noteIn(tx, found, changes)),
    noteIn,

    async noteClaims(install, claimed, at) {
      await inTransaction(database, (tx) =>
        tx
          .updateTable('guideline')
          .set({ state: 'unclaimed', since: at, says: null, failures: 0 })
          .where('install', '=', install)
          .where('state', '!=', 'unclaimed')
          .where('project', 'not in', jsonTexts(database, claimed))
          .execute(),
      );
    },
  };
}
