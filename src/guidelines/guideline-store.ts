import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { jsonTexts } from '../db/query.ts';
import type { Row } from '../db/schema.ts';

export type GuidelineRow = Row<'guideline'>;

export interface ProjectOfTool {
  tool: string;
  project: string;
}

export type CheckedGuideline = Pick<
  GuidelineRow,
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

export function listGuidelines(ctx: Storage): Promise<GuidelineRow[]> {
  return ctx.database.kysely.selectFrom('guideline').selectAll().orderBy('tool').orderBy('project').execute();
}

export function findGuideline(ctx: Storage, { tool, project }: ProjectOfTool): Promise<GuidelineRow | undefined> {
  return ctx.database.kysely
    .selectFrom('guideline')
    .selectAll()
    .where('tool', '=', tool)
    .where('project', '=', project)
    .executeTakeFirst();
}

/** Writes the outcome of a look, with further changes. */
export function noteGuideline(
  ctx: Storage,
  found: CheckedGuideline,
  changes: Partial<GuidelineRow> = {},
): Promise<void> {
  return inTransaction(ctx.database, (tx) => noteGuidelineIn(tx, found, changes));
}

export async function noteGuidelineIn(
  tx: Transaction,
  found: CheckedGuideline,
  changes: Partial<GuidelineRow>,
): Promise<void> {
  await tx
    .insertInto('guideline')
    .values({ ...neverWritten, ...found, ...changes })
    .onConflict((conflict) => conflict.columns(['tool', 'project']).doUpdateSet({ ...found, ...changes }))
    .execute();
}

/** Notes that nothing is published for the install's other projects. */
export async function noteClaimedProjects(
  ctx: Storage,
  install: string,
  claimed: readonly string[],
  at: string,
): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('guideline')
      .set({ state: 'unclaimed', since: at, says: null, failures: 0 })
      .where('install', '=', install)
      .where('state', '!=', 'unclaimed')
      .where('project', 'not in', jsonTexts(ctx.database, claimed))
      .execute(),
  );
}
