import { AppError } from '../../domain/errors.ts';
import { maskText } from '../../lib/mask.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { pickInstalls } from '../../operations/values.ts';
import { countImport, prepareImport, undoImport } from '../../usage/import/import-file.ts';
import { dropImport } from '../../usage/import/import-lines-store.ts';
import { listImports } from '../../usage/import/import-store.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  importBody,
  importedAnswer,
  importParams,
  importsAnswer,
  importsQuery,
  undoneImportAnswer,
} from '../schemas/usage-schema.ts';

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
  summary: 'Import work from a file; it counts whole or not at all',
  tag,
  body: importBody,
  answer: importedAnswer,
  async run({ body: { install: named, fileName, format, content, dryRun = false }, by, signal }, ctx) {
    const install = pickInstall(ctx, named);
    const file = { install, fileName: maskText(fileName), actor: by.actor, format, chunks: oneChunk(content) };
    const { id, preview } = await prepareImport(ctx, file, { signal, onProgress: () => undefined });
    const isImported = id !== null && !dryRun;
    if (isImported) await countImport(ctx, by, id);
    else if (id !== null) await dropImport(ctx, id);
    return { install, imported: isImported ? id : null, ...preview };
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
    await undoImport(ctx, by, id);
    return { id, undone: true as const };
  },
});

/** @throws AppError `conflict` where none is named and there is not exactly one */
function pickInstall(ctx: OperationContext, named: string | undefined): string {
  const [install, other] = pickInstalls(ctx, named);
  if (install !== undefined && other === undefined) return install;
  throw new AppError('conflict', 'There is not exactly one install: name one');
}

async function* oneChunk(content: string): AsyncGenerator<Buffer> {
  yield Buffer.from(content);
}

export const importOperations = [listAllImports, importUsage, undoOneImport];
