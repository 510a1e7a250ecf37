import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createBridgeWorkspace, type Workspace } from '../support/bridge-workspace.ts';
import { postgres } from '../support/databases.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { type CommandResult, runCommand } from '../support/run-command.ts';

const hired = fullEvent({ type: 'contract.started' });

describe('a database that was lost, moved or copied by command', () => {
  let workspace: Workspace;
  let file: string;
  const inFolder = (name: string) => path.join(workspace.folder, name);
  const run = (...argv: string[]): Promise<CommandResult> => runCommand(...argv, '--config', workspace.configFile);

  beforeEach(async () => {
    workspace = createBridgeWorkspace();
    file = inFolder('backup');
    await workspace.receive(hired);
    return () => vi.unstubAllEnvs();
  });

  const listMembers = async () => (await run('members', '--json')).stdout;

  function configure(url: string): void {
    const config = JSON.parse(readFileSync(workspace.configFile, 'utf8')) as object;
    writeFileSync(workspace.configFile, JSON.stringify({ ...config, database: { url } }));
  }

  it('is backed up beside a running instance, and restored with its key alone', async () => {
    await workspace.whileRunning(async () => {
      const { status, stdout } = await run('backup', file);
      expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/rows were copied .* read back/) });
      expect(await run('restore', file)).toMatchObject({ status: 1, stderr: expect.stringMatching(/is running/) });
    });
    const members = await listMembers();
    for (const name of ['gangway.db', 'gangway.db-wal', 'gangway.db-shm', 'gangway.db.alive', 'gangway.db-alive']) {
      rmSync(inFolder(name), { force: true });
    }
    renameSync(inFolder('gangway.db.key'), inFolder('kept'));
    expect(await run('restore', file)).toMatchObject({ status: 1, stderr: expect.stringMatching(/key.*is missing/) });
    renameSync(inFolder('kept'), inFolder('gangway.db.key'));
    const { status, stdout } = await run('restore', file);
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringMatching(/The next start reads every install/),
    });
    expect(await listMembers()).toBe(members);
    expect(await run('restore', file)).toMatchObject({ status: 1, stderr: expect.stringMatching(/has data already/) });
  });

  it('moves to PostgreSQL and back, counted table by table', async () => {
    const members = await listMembers();
    const url = await postgres.createEmpty();
    await workspace.whileRunning(async () => {
      expect(await run('migrate', '--to', url)).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/is running/),
      });
    });
    const moved = await run('migrate', '--to', url);
    expect(moved).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/delivery +1\n[\s\S]*Set GANGWAY_SECRET_KEY/),
    });
    vi.stubEnv('GANGWAY_SECRET_KEY', readFileSync(inFolder('gangway.db.key'), 'utf8').trim());
    configure(url);
    expect(await listMembers()).toBe(members);

    const again = `sqlite:${inFolder('again.db')}`;
    expect(await run('migrate', '--to', again)).toMatchObject({ status: 0 });
    vi.unstubAllEnvs();
    copyFileSync(inFolder('gangway.db.key'), inFolder('again.db.key'));
    configure(again);
    expect(await listMembers()).toBe(members);
  });
});
