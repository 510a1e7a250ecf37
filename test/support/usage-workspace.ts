import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { writeSetting } from '../../src/db/setting-store.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { createBridgeWorkspace, type Workspace } from './bridge-workspace.ts';
import { runCommand } from './run-command.ts';

/** Everything that commands about work need: a marketplace, a trainer who is hired, and a tool that counts their days. */
export interface UsageWorkspace {
  sandbox: Sandbox;
  workspace: Workspace;
  hired: { contractId: string; trainerId: string };
  today: string;
  /** What the tool counts from now on: of the trainer today, and more. */
  count(counts: object, ...more: object[]): void;
  /** With `--json`. */
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects is said by its assertions
  run(...argv: string[]): Promise<{ status: number; stderr: string; said: any }>;
  /** As a person reads it. */
  print(...argv: string[]): Promise<{ status: number; stdout: string; stderr: string }>;
  /** Has the reported days be such that were sent for the last time. */
  close(): Promise<void>;
}

/** @param first what the tool counts of the trainer today, before it is read for the first time */
export async function openUsageWorkspace(
  first: object = { seconds: 600, tasks: 2, labels: 9 },
): Promise<UsageWorkspace> {
  const sandbox = createSandbox();
  const { baseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { installId, token } = sandbox.createInstall({ piiConsent: true });
  const { id: jobId } = sandbox.createJob({ installId });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ externalProjectId: 'signs', jobId });
  await fetch(`${baseUrl}/project-links`, { method: 'POST', headers, body });
  const workspace = createBridgeWorkspace({
    marketplace: { baseUrl },
    installs: { acme: { token, tool: 'studio', projects: ['*'] } },
    tools: { studio: { adapter: './studio.js' } },
  });
  writeFileSync(path.join(workspace.folder, 'studio.js'), workAdapter);
  writeFileSync(path.join(workspace.folder, 'package.json'), '{"type":"module"}');
  const { contractId, trainers } = sandbox.hire({ jobId });
  const hired = { contractId, trainerId: trainers[0]?.opentrainUserId ?? '' };
  const today = new Date().toISOString().slice(0, 10);

  function count(counts: object, ...more: object[]): void {
    const day = { memberId: hired.trainerId, of: 'day', day: today, ...counts };
    writeFileSync(path.join(workspace.folder, 'work.json'), JSON.stringify([day, ...more]));
  }

  const print = (...argv: string[]) => runCommand(...argv, '--config', workspace.configFile);

  async function run(...argv: string[]) {
    const { status, stdout, stderr } = await print(...argv, '--json');
    return { status, stderr, said: JSON.parse(stdout || '{}') };
  }

  async function close(): Promise<void> {
    const closedAt = new Date().toISOString();
    await workspace.withStorage(async ({ database }) => {
      await inTransaction(database, async (tx) => {
        await tx.updateTable('usageLedger').set({ closedAt }).execute();
        await writeSetting(tx, 'usage_closed_before', '2100-01-01');
      });
    });
  }

  count(first);
  const { status, stderr } = await run('reconcile');
  // A slow machine is informed of the progress, on the same stream as of problems.
  expect([status, stderr]).toEqual([0, expect.not.stringContaining('acme:')]);
  return { sandbox, workspace, hired, today, count, run, print, close };
}

/** An adapter in a file, which reads the work from another file beside it. */
export const workAdapter = `
import { readFileSync } from 'node:fs';
export default () => ({
  capabilities: {
    removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'membership',
    usage: { counts: ['seconds', 'tasks', 'labels'], outlivesRemoval: true },
  },
  check: async () => [],
  groupFor: ({ externalProjectId }) => externalProjectId,
  findMember: async (group, { trainerId }) => ({ id: trainerId, email: null }),
  addMember: async (group, { trainerId }) => ({ id: trainerId, email: null }),
  removeMember: async () => undefined,
  usageScopeFor: ({ externalProjectId }) => externalProjectId,
  async *readUsage() {
    yield* JSON.parse(readFileSync(new URL('./work.json', import.meta.url), 'utf8'));
  },
});
`;
