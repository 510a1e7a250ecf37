import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { DoccanoUser } from '../../support/doccano-site.ts';
import { until } from '../../support/until.ts';
import { type DoccanoServer, doccanoRequirements } from '../doccano-server.ts';
import { installPythonPackage } from '../python-package.ts';
import { startServer } from '../server-process.ts';

/** doccano's own export of a project, which a process beside its server makes. */
export interface DoccanoExports {
  /** By username: the labels of each example in their file. Only of members. */
  read(project: number, confirmedOnly: boolean): Promise<Map<string, string[][]>>;
  stop(): Promise<void>;
}

/** What server and process hand each other the wishes by; beside the database, whose only writer is the server. */
export function toQueueEnv(folder: string): Record<string, string> {
  return { CELERY_BROKER_URL: `sqla+sqlite:///${path.join(folder, 'exports.sqlite3')}` };
}

const run = promisify(execFile);
const unzipSource =
  'import json, sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(json.dumps({n: z.read(n).decode() for n in z.namelist()}))';

/** @param env what the server was started with besides */
export async function openExports(
  server: DoccanoServer,
  admin: DoccanoUser,
  env: Record<string, string>,
): Promise<DoccanoExports> {
  const bin = await installPythonPackage('doccano', doccanoRequirements);
  if (bin === null) throw new Error('doccano is not installed');
  const worker = await startServer({
    command: path.join(bin, 'doccano'),
    args: ['task', '--concurrency', '1'],
    env: { HOME: server.folder, DOCCANO_HOME: server.folder, ...env },
    readyUrl: `${server.url}/v1/me`,
    timeoutMs: 60_000,
  });

  return {
    async read(project, confirmedOnly) {
      const wish = { format: 'JSONL', exportApproved: confirmedOnly };
      const { task_id: id } = await admin.ask<{ task_id: string }>('POST', `/projects/${project}/download`, wish);
      const look = () => admin.ask<{ ready: boolean; result: string }>('GET', `/tasks/status/${id}`);
      const { result } = await until('the export is ready', look, ({ ready }) => ready);
      const { stdout } = await run(path.join(bin, 'python'), ['-c', unzipSource, result]);
      const files = Object.entries(JSON.parse(stdout) as Record<string, string>);
      return new Map(files.map(([name, text]) => [name.replace(/\.jsonl$/, ''), toLabels(text)]));
    },
    stop: () => worker.stop(),
  };
}

function toLabels(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { label: string[] }).label);
}
