import type { Context } from '../../../src/context.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { emptyContract, emptyEvidence } from '../../../src/domain/evidence.ts';
import type { Source } from '../../../src/marketplace/source.ts';
import {
  clearImports,
  countImport,
  type PreparedImport,
  prepareImport,
  undoImport,
} from '../../../src/usage/import/import-file.ts';
import { importedObservations } from '../../../src/usage/import/import-store.ts';
import type { PreviewedLine } from '../../../src/usage/import/preview-import.ts';
import type { OpenFresh } from '../../support/databases.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';

export type ImportWorld = Awaited<ReturnType<typeof openImportWorld>>;

export interface PrepareOptions {
  header?: string;
  install?: string;
  signal?: AbortSignal;
  listAtMost?: number;
}

const usualHeader = 'workDate,contractId,totalSeconds';
const by = { actor: 'ada', at: 'now' };

/**
 * Imports in a database of the test's own, at noon of 2026-03-15: one person is on `cmc1`, of the project
 * `street-signs`, and two are on `cmc2`, of the project `lamps`.
 */
export async function openImportWorld(openFresh: OpenFresh) {
  const engine = createEngine(await openFresh());
  for (const install of ['acme', 'globex']) {
    await engine.apply([hire('cmc1', 'cmu1', 'street-signs')], install);
  }
  await engine.apply([hire('cmc2', 'cmu2', 'lamps'), hire('cmc2', 'cmu3', 'lamps')]);
  await engine.merge({ ...emptyEvidence(), contracts: [emptyContract('acme', 'cmc9')] });

  const ctx: Context = { ...engine, sources: new Map(['acme', 'globex'].map((name) => [name, reporting])) };
  const onProgress = () => undefined;
  const signal = AbortSignal.any([]);
  return {
    engine,
    ctx,
    /** Writes lines of CSV, which do not count yet. */
    prepare: (lines: readonly string[], options?: PrepareOptions) => prepareLines(ctx, lines, options),
    /** Writes them and makes them count. @returns the id of the import */
    async take(lines: readonly string[], options?: PrepareOptions): Promise<number> {
      engine.clock.advance(1000);
      const { id, preview } = await prepareLines(ctx, lines, options);
      if (id === null) throw new Error(JSON.stringify(preview));
      await countImport(ctx, by, id);
      return id;
    },
    count: (id: number) => countImport(ctx, by, id),
    undo: (id: number) => undoImport(ctx, by, id),
    clear: () => clearImports(ctx, { signal, onProgress }),
    /** Observations as `day work trainer seconds/tasks source`, with `back` for withdrawn work. */
    async observed(): Promise<string[]> {
      const of = { trainerIds: ['cmu1', 'cmu2', 'cmu3'], fromDay: '' };
      const all = await importedObservations(ctx.database, ctx.database.kysely, of);
      return all
        .map(({ day, workedOn, trainerId, counts: { seconds, tasks }, source, isTakenBack }) => {
          const back = isTakenBack ? [' back'] : [];
          return [
            `${day} ${Object.values(workedOn).join('/')} ${trainerId} ${seconds}/${tasks} ${source}`,
            ...back,
          ].join('');
        })
        .sort();
    },
  };
}

/** A marketplace that accepts reports. None are sent here. */
const reporting = { reportUsage: () => Promise.reject(new Error('nothing is sent')) } as unknown as Source;

/** Writes lines of CSV under the id of a new import. */
export async function prepareLines(
  ctx: Context,
  lines: readonly string[],
  { header = usualHeader, install = 'acme', signal = AbortSignal.any([]), listAtMost }: PrepareOptions = {},
): Promise<PreparedImport> {
  const chunks = toChunks([header, ...lines]);
  const file = { install, fileName: 'work.csv', actor: 'ada', format: 'csv' as const, chunks };
  return await prepareImport(ctx, file, { signal, onProgress: () => undefined }, listAtMost);
}

function hire(contract: string, trainer: string, project: string): string {
  return fullEvent({
    type: 'contract.started',
    contract,
    trainer,
    project,
    link: `cml-${project}`,
    id: `7${contract.slice(3)}${trainer.slice(3)}`,
  });
}

async function* toChunks(lines: readonly string[]): AsyncGenerator<Buffer> {
  yield Buffer.from(lines.join('\n'));
}

/** A previewed line as `line outcome contract seconds before → after, reason`. */
export function toText({ line, outcome, contractId, from, to, reason }: PreviewedLine): string {
  const change = to === null ? '' : ` ${from?.seconds ?? null} → ${to.seconds}`;
  return `${line} ${outcome} ${contractId}${change}${reason === null ? '' : `, ${reason}`}`;
}

/** Everything that is stored of imports. */
export async function countRows({ database }: Engine): Promise<[number, number]> {
  return await inTransaction(database, async (tx) => {
    const imports = await tx.selectFrom('usageImport').select('id').execute();
    const entries = await tx.selectFrom('usageImportEntry').select('line').execute();
    return [imports.length, entries.length];
  });
}

/** The day so many days before 2026-03-15. */
export function dayBack(days: number): string {
  return new Date(Date.UTC(2026, 2, 15) - days * 86_400_000).toISOString().slice(0, 10);
}
