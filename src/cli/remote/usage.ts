import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../domain/errors.ts';
import { maskText } from '../../lib/mask.ts';
import type { DescribedUsage } from '../../operator/describe-usage.ts';
import type { ReportedWork } from '../../operator/report-work.ts';
import type { ListedImport } from '../../usage/import/import-store.ts';
import type { InstallPlan } from '../../usage/report/preview-report.ts';
import type { ListedHeld } from '../../usage/show/decide-held.ts';
import type { Lowering } from '../../usage/show/list-lowerings.ts';
import type { ScopeReading } from '../../usage/show/list-readings.ts';
import type { Printed } from '../define-command.ts';
import type { RemoteSession } from '../session.ts';
import { printPlanned, printReported, type ReportOptions } from '../usage-command.ts';
import { type HeldOptions, printDecision, printHeld } from '../usage-held-command.ts';
import {
  confirmImport,
  confirmUndo,
  type FoundInFile,
  formatOf,
  type ImportOptions,
  printImports,
} from '../usage-import-command.ts';
import { printUsage } from '../usage-show-command.ts';

/** The work done in the tools, and what is reported of it, as a running instance says. */

export async function askUsageReport(options: ReportOptions, remote: RemoteSession): Promise<Printed> {
  const { install, contract, from, to, dryRun, acceptLowered } = options;
  const wanted = { install, contract, from, to };
  if (!dryRun)
    return printReported(await remote.ask<ReportedWork>('POST /usage/report', { body: { ...wanted, acceptLowered } }));
  const { installs, readings } = await remote.ask<{ installs: InstallPlan[]; readings: ScopeReading[] }>(
    'GET /usage/report',
    { query: wanted },
  );
  return printPlanned(installs, readings);
}

export async function askUsageHeld({ id, assign }: HeldOptions, remote: RemoteSession): Promise<Printed> {
  if (id !== undefined) {
    await remote.ask('POST /usage/held/{work}', { params: { work: id }, body: { contract: assign ?? null } });
    return printDecision(id, assign);
  }
  const { held, lowerings } = await remote.ask<{ held: ListedHeld[]; lowerings: Lowering[] }>('GET /usage/held');
  return printHeld(held, lowerings);
}

export async function askUsageShow(
  { contract, install }: { contract: string; install: string | undefined },
  remote: RemoteSession,
): Promise<Printed> {
  const asked = { params: { contract }, query: { install } };
  return printUsage(await remote.ask<DescribedUsage>('GET /contracts/{contract}/usage', asked));
}

type Imported = FoundInFile & { install: string; imported: number | null };

export async function askUsageImport(options: ImportOptions, remote: RemoteSession): Promise<Printed> {
  const { file, install: named, undo } = options;
  if (undo !== undefined) return await undoOne(undo, options, remote);
  if (file === undefined) return remote.misuse('name a file');
  const fileName = maskText(path.basename(file));
  const body = { install: named, fileName, format: formatOf(file), content: await readWhole(file) };
  const send = (dryRun: boolean) => remote.ask<Imported>('POST /usage/imports', { body: { ...body, dryRun } });
  const { install, imported: _, ...found } = await send(true);
  return await confirmImport(remote.terminal, { install, fileName }, found, options, async (isMeant) =>
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

async function undoOne(id: number, options: ImportOptions, remote: RemoteSession): Promise<Printed> {
  const { imports } = await remote.ask<{ imports: ListedImport[] }>('GET /usage/imports', { query: { limit: 500 } });
  const found = imports.find((one) => one.id === id);
  if (found === undefined) throw new AppError('not_found', `There is no import ${id} among the latest 500`);
  return await confirmUndo(remote.terminal, found, options, () =>
    remote.ask('POST /usage/imports/{import}/undo', { params: { import: id } }),
  );
}

export async function askUsageImports(
  { install, limit }: { install: string | undefined; limit: number },
  remote: RemoteSession,
): Promise<Printed> {
  const query = { install, limit: Math.min(limit, 500) };
  return printImports((await remote.ask<{ imports: ListedImport[] }>('GET /usage/imports', { query })).imports);
}
