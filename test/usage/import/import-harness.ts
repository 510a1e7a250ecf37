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

/** Imports in a database of the test's own, at noon of 2026-03-15. */
export interface ImportWorld {
  engine: Engine;
  ctx: Context;
  /** Writes lines of CSV, which do not count yet. */
  prepare(lines: readonly string[], options?: PrepareOptions): Promise<PreparedImport>;
  /** Writes them and makes them count. @returns the id of the import */
  take(lines: readonly string[], options?: PrepareOptions): Promise<number>;
  count(id: number): Promise<void>;
  undo(id: number): Promise<void>;
  clear(): Promise<void>;
  /** Observations as `day work trainer seconds/tasks source`, with `back` for withdrawn work. */
  observed(): Promise<string[]>;
}

export interface PrepareOptions {
  header?: string;
  install?: string;
  signal?: AbortSignal;
  listAtMost?: number;
}

const usualHeader = 'workDate,contractId,totalSeconds';
const by = { actor: 'ada', at: 'now' };

/** One person on `cmc1`, of the project `street-signs`; two on `cmc2`, of the project `lamps`. */
export async function openImportWorld(openFresh: OpenFresh): Promise<ImportWorld> {
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
    prepare: (lines, options) => prepareLines(ctx, lines, options),
    async take(lines, options) {
      engine.clock.advance(1000);
      const { id, preview } = await prepareLines(ctx, lines, options);
      if (id === null) throw new Error(JSON.stringify(preview));
      await countImport(ctx, by, id);
      return id;
    },
    count: (id) => countImport(ctx, by, id),
    undo: (id) => undoImport(ctx, by, id),
    clear: () => clearImports(ctx, { signal, onProgress }),
    async observed() {
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
