import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../domain/errors.ts';
import { maskText } from '../../lib/mask.ts';
import type { ImportPreview } from '../../usage/import/import-file.ts';
import type { Printed } from '../define-command.ts';
import { pickInstall } from '../pick-install.ts';
import type { RemoteSession } from '../session.ts';
import { confirmImport, formatOf, type ImportOptions } from '../usage-import-command.ts';

type Imported = ImportPreview & { install: string; imported: number | null };

export async function askUsageImport(options: ImportOptions, remote: RemoteSession): Promise<Printed> {
  const { file } = options;
  const { installs } = await remote.ask<{ installs: { install: string }[] }>('GET /installs');
  const install = pickInstall(remote, new Map(installs.map((one) => [one.install, one])), options.install);
  const fileName = maskText(path.basename(file));
  const body = { install, fileName, format: formatOf(file), content: await readWhole(file) };
  const send = (dryRun: boolean) => remote.ask<Imported>('POST /usage/imports', { body: { ...body, dryRun } });
  const { install: _, imported: __, ...preview } = await send(true);
  return await confirmImport(remote.terminal, { install, fileName, preview }, options, async (isMeant) =>
    isMeant ? (await send(false)).imported : null,
  );
}

async function readWhole(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new AppError('invalid', `Could not open ${file} (${code})`, { cause: error });
  }
}
