import { inTransaction } from '../../db/database.ts';
import { maskText } from '../../lib/mask.ts';
import { listImports } from '../../usage/import/import-store.ts';
import { countImport, undoImport } from '../../usage/import/settle-import.ts';
import { stageImport } from '../../usage/import/stage-import.ts';
import { dropStaging } from '../../usage/import/staging-store.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  importBody,
  importedAnswer,
  importParams,
  importsAnswer,
  importsQuery,
  undoneImportAnswer,
} from '../schemas/usage-schema.ts';
import { pickInstall } from './customers.ts';

/** Work from files, for tools that cannot be asked. */

const tag = 'usage';

const listAllImports = defineOperation({
  id: 'listImports',
  method: 'get',
  path: '/usage/imports',
  summary: 'What was imported, the latest first',
  tag,
  query: importsQuery,
  answer: importsAnswer,
  run: async ({ query: { limit = 100, install } }, ctx) => ({
    imports: await listImports(ctx, { install, limit }),
  }),
});

const importUsage = defineOperation({
  id: 'importUsage',
  method: 'post',
  path: '/usage/imports',
  summary: 'Take in work from a file; it counts whole or not at all',
  tag,
  body: importBody,
  answer: importedAnswer,
  async run({ body: { install: named, fileName, format, content, dryRun = false }, by, signal }, ctx) {
    const { database } = ctx;
    const install = pickInstall(ctx, named);
    const staged = await stageImport(
      ctx,
      ctx.clock,
      { install, fileName: maskText(fileName), actor: by.actor, format, chunks: oneChunk(content) },
      { signal, onProgress: () => undefined },
    );
    if (staged.outcome === 'faulty') {
      return { install, imported: null, preview: null, faultCount: staged.faultCount, faults: staged.faults };
    }
    const { id, preview } = staged;
    if (dryRun) await inTransaction(database, (tx) => dropStaging(tx, id));
    else await countImport(ctx, ctx.clock, by, id);
    return { install, imported: dryRun ? null : id, preview, faultCount: 0, faults: [] };
  },
});

const undoOneImport = defineOperation({
  id: 'undoImport',
  method: 'post',
  path: '/usage/imports/{import}/undo',
  summary: 'Undo an import: what it replaced counts again',
  tag,
  params: importParams,
  answer: undoneImportAnswer,
  async run({ params: { import: id }, by }, ctx) {
    await undoImport(ctx, ctx.clock, by, id);
    return { id, undone: true as const };
  },
});

async function* oneChunk(content: string): AsyncGenerator<Buffer> {
  yield Buffer.from(content);
}

export const importOperations = [listAllImports, importUsage, undoOneImport];
