import { writeAudit } from '../../db/audit-store.ts';
import { inTransaction } from '../../db/database.ts';
import { maskText } from '../../lib/mask.ts';
import { listImports } from '../../usage/import/import-store.ts';
import { countImport, type SettleDeps, undoImport } from '../../usage/import/settle-import.ts';
import { stageImport } from '../../usage/import/stage-import.ts';
import { dropStaging } from '../../usage/import/staging-store.ts';
import type { ApiParts } from '../api-parts.ts';
import { type AskedOf, defineOperation } from '../operation-schema.ts';
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
  async run({ body: { install: named, fileName, format, content, dryRun = false }, by, signal }, parts) {
    const { database } = parts;
    const install = pickInstall(parts, named);
    const staged = await stageImport(
      { ...parts, signal, onProgress: () => undefined },
      { install, fileName: maskText(fileName), actor: by.actor, format, chunks: oneChunk(content) },
    );
    if (staged.outcome === 'faulty') {
      return { install, imported: null, preview: null, faultCount: staged.faultCount, faults: staged.faults };
    }
    const { id, preview } = staged;
    if (dryRun) await inTransaction(database, (tx) => dropStaging(tx, id));
    else await countImport(toSettleDeps(parts, by), id);
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
  async run({ params: { import: id }, by }, parts) {
    await undoImport(toSettleDeps(parts, by), id);
    return { id, undone: true as const };
  },
});

function toSettleDeps(parts: ApiParts, by: AskedOf<unknown, unknown, unknown>['by']): SettleDeps {
  return {
    ...parts,
    async note(tx, action, subject) {
      await writeAudit(tx, by, action, subject);
    },
  };
}

async function* oneChunk(content: string): AsyncGenerator<Buffer> {
  yield Buffer.from(content);
}

export const importOperations = [listAllImports, importUsage, undoOneImport];
