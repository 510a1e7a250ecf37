import { inTransaction } from '../../../src/db/database.ts';
import { emptyContract, emptyEvidence } from '../../../src/domain/evidence.ts';
import { clearImports } from '../../../src/usage/import/clear-imports-worker.ts';
import { importedObservations } from '../../../src/usage/import/import-store.ts';
import { countImport, undoImport } from '../../../src/usage/import/settle-import.ts';
import { type Staged, stageImport } from '../../../src/usage/import/stage-import.ts';
import type { OpenFresh } from '../../support/databases.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';

/** Imports over a database of the test's own, in time that stands still: noon of 2026-03-15. */
export interface ImportWorld {
  engine: Engine;
  /** Stages lines of CSV. */
  stage(lines: readonly string[], options?: StageOptions): Promise<Staged>;
  /** Stages them and lets them count. @returns the id of the import */
  take(lines: readonly string[], options?: StageOptions): Promise<number>;
  count(id: number): Promise<void>;
  undo(id: number): Promise<void>;
  clear(): Promise<void>;
  /** What imports say of March 2026, as `day work trainer seconds source`. */
  sighted(install?: string): Promise<string[]>;
}

interface StageOptions {
  header?: string;
  install?: string;
  signal?: AbortSignal;
}

const usualHeader = 'workDate,contractId,totalSeconds';

/** One person on `cmc1`, of the project `street-signs`; two on `cmc2`, of the project `lamps`. */
export async function openImportWorld(openFresh: OpenFresh): Promise<ImportWorld> {
  const engine = createEngine(await openFresh());
  for (const install of ['acme', 'globex']) {
    await engine.apply([hire('cmc1', 'cmu1', 'street-signs')], install);
  }
  await engine.apply([hire('cmc2', 'cmu2', 'lamps'), hire('cmc2', 'cmu3', 'lamps')]);
  await engine.merge({ ...emptyEvidence(), contracts: [emptyContract('acme', 'cmc9')] });

  const { clock } = engine;
  const signal = AbortSignal.any([]);
  const by = { actor: 'ada', at: 'now' };
  const onProgress = () => undefined;
  const stage: ImportWorld['stage'] = (lines, options = {}) => {
    const { header = usualHeader, install = 'acme', signal: stopping = signal } = options;
    const chunks = toChunks([header, ...lines]);
    const file = { install, fileName: 'work.csv', actor: 'ada', format: 'csv' as const, chunks };
    return stageImport(engine, clock, file, { signal: stopping, onProgress });
  };
  return {
    engine,
    stage,
    async take(lines, options) {
      clock.advance(1000);
      const staged = await stage(lines, options);
      if (staged.outcome !== 'staged') throw new Error(JSON.stringify(staged));
      await countImport(engine, clock, by, staged.id);
      return staged.id;
    },
    count: (id) => countImport(engine, clock, by, id),
    undo: (id) => undoImport(engine, clock, by, id),
    clear: () => clearImports(engine, clock, { signal, onProgress }),
    async sighted(install) {
      const all = importedObservations(engine, { install, from: '2026-03-01', to: '2026-03-31' });
      return (await Array.fromAsync(all)).map(({ day, workedOn, trainerId, counts, source }) => {
        const where = Object.values(workedOn).join('/');
        return `${day} ${where} ${trainerId} ${counts.seconds} ${source}`;
      });
    },
  };
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

/** All that is kept of imports. */
export async function countRows({ database }: Engine): Promise<[number, number]> {
  return await inTransaction(database, async (tx) => {
    const imports = await tx.selectFrom('usageImport').select('id').execute();
    const entries = await tx.selectFrom('usageImportEntry').select('line').execute();
    return [imports.length, entries.length];
  });
}
