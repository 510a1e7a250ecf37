import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../domain/errors.ts';
import { maskText } from '../../lib/mask.ts';
import type { CheckedWork, RecountedWork } from '../../operator/check-work.ts';
import type { DescribedUsage } from '../../operator/describe-usage.ts';
import type { HeldList } from '../../operator/held-work.ts';
import type { ReportedWork } from '../../operator/report-work.ts';
import type { ImportPreview } from '../../usage/import/import-file.ts';
import type { ListedImport } from '../../usage/import/import-store.ts';
import type { InstallPlan } from '../../usage/report/preview-report.ts';
import type { ScopeReading } from '../../usage/show/list-readings.ts';
import type { Printed } from '../define-command.ts';
import type { RemoteSession } from '../session.ts';
import { type CheckOptions, printCheck } from '../usage-check-command.ts';
import { printPlanned, printReported, type ReportOptions } from '../usage-command.ts';
import { decisionOf, type HeldOptions, printDecision, printHeld } from '../usage-held-command.ts';
import { confirmImport, confirmUndo, formatOf, type ImportOptions, printImports } from '../usage-import-command.ts';
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

export async function askUsageHeld(options: HeldOptions, remote: RemoteSession): Promise<Printed> {
  const { id, assign, decided } = options;
  if (id === undefined) {
    const query = { decided: decided || undefined };
    return printHeld(await remote.ask<HeldList>('GET /usage/held', { query }), decided);
  }
  const decision = decisionOf(options);
  const params = { work: id };
  if (decision === 'taken_back') await remote.ask('POST /usage/held/{work}/take-back', { params });
  else if (decision === 'sent' || decision === 'dismissed') {
    await remote.ask('POST /usage/late/{day}', { params: { day: id }, body: { send: decision === 'sent' } });
  } else await remote.ask('POST /usage/held/{work}', { params, body: { contract: assign ?? null } });
  return printDecision(id, options);
}

export async function askUsageCheck(
  { install, contract, from, to, all, recount }: CheckOptions,
  remote: RemoteSession,
): Promise<Printed> {
  const query = { install, contract, from, to, all: all || undefined };
  const recounted = recount ? await remote.ask<RecountedWork>('POST /usage/recount') : null;
  return printCheck(await remote.ask<CheckedWork>('GET /usage/check', { query }), recounted);
}

export async function askUsageShow(
  { contract, install }: { contract: string; install: string | undefined },
  remote: RemoteSession,
): Promise<Printed> {
  const asked = { params: { contract }, query: { install } };
  return printUsage(await remote.ask<DescribedUsage>('GET /contracts/{contract}/usage', asked));
}

type Imported = ImportPreview & { install: string; imported: number | null };

export async function askUsageImport(options: ImportOptions, remote: RemoteSession): Promise<Printed> {
  const { file, install: named, undo } = options;
  if (undo !== undefined) return await undoOne(undo, options, remote);
  if (file === undefined) return remote.misuse('name a file');
  const fileName = maskText(path.basename(file));
  const body = { install: named, fileName, format: formatOf(file), content: await readWhole(file) };
  const send = (dryRun: boolean) => remote.ask<Imported>('POST /usage/imports', { body: { ...body, dryRun } });
  const { install, imported: _, ...preview } = await send(true);
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
