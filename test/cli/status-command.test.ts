import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { recordToolTrouble } from '../../src/converge/tool-trouble-store.ts';
import { inTransaction } from '../../src/db/database.ts';
import { writeSetting } from '../../src/db/setting-store.ts';
import { createBridgeWorkspace, type Workspace } from '../support/bridge-workspace.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { runCommand } from '../support/run-command.ts';

describe('gangway status', () => {
  let workspace: Workspace;

  beforeEach(() => {
    workspace = createBridgeWorkspace();
  });

  async function runOk(...argv: string[]): Promise<string> {
    const { status, stdout } = await runCommand(...argv, '--config', workspace.configFile);
    expect(status).toBe(0);
    return stdout;
  }

  const runJson = async (...argv: string[]) => JSON.parse(await runOk(...argv, '--json')) as object;

  it('says that nothing runs, since when, and what to do', async () => {
    await runOk('migrate');
    const never = '! nothing has run on this database yet\n      → start it: gangway start\n';
    expect(await runOk('status')).toBe(`Needs you:\n  ${never}`);
    await workspace.whileRunning(async () => {
      const text = await runOk('status');
      expect(text).toMatch(/^Nothing needs you\.\n\nInstances\nname .*\n\S+ .* running /);
    });
    const text = await runOk('status');
    const [, since] = /nothing runs since (\S+): no delivery is stored/.exec(text) ?? [];
    expect(text).toMatch(/\n +→ start it: gangway start; .*\n\nInstances\n.*\n\S+ .* stopped /);
    expect(await runJson('status')).toMatchObject({
      instances: [
        {
          state: 'stopped',
          stoppedAt: expect.stringContaining(String(since).slice(0, -1)),
          silentForSeconds: expect.any(Number),
        },
      ],
    });
  });

  it('made an empty database where there was none, and said that nothing needs you', async () => {
    const file = path.join(workspace.folder, 'gangway.db');
    const { status, stderr } = await runCommand('status', '--config', workspace.configFile);
    expect(status).toBe(1);
    expect(stderr).toContain(`There is no database ${file} yet: set database.url to the one that is meant`);
    const doctor = await runCommand('doctor', '--config', workspace.configFile);
    expect(doctor.stdout).toContain(`database: there is none at ${file} yet`);
    expect(existsSync(file)).toBe(false);
  });

  it('said for two minutes after a command that nothing needs you, although nothing ran', async () => {
    await workspace.withStorage(async ({ database }) => {
      await inTransaction(database, (tx) => writeSetting(tx, 'last_alive_at', new Date().toISOString()));
    });
    expect(await runOk('status')).toMatch(/^Needs you:\n +! nothing runs since \S+: no delivery is stored/);
    expect((await runCommand('doctor', '--config', workspace.configFile)).stdout).toContain('nothing runs since');
  });

  it('says that the configuration was changed while a bridge goes on by the old one', async () => {
    const { configFile } = workspace;
    await workspace.whileRunning(async () => {
      expect(await runOk('status')).toMatch(/^Nothing needs you\./);
      writeFileSync(configFile, readFileSync(configFile));
      expect(await runOk('status')).toContain(`! ${configFile} has changed since the instance `);
    });
    expect(await runOk('status')).not.toContain('has changed');
  });

  it('says which tool is in trouble while an instance runs, and explain says it too', async () => {
    const createdAt = new Date().toISOString();
    await workspace.receive(fullEvent({ type: 'contract.started', createdAt }));
    await workspace.withStorage(async (ctx) => {
      await recordToolTrouble(ctx, {
        tool: 'list',
        errorCode: 'unavailable',
        message: 'no answer',
        since: '2026-03-15T12:00:00.000Z',
        asksAgainAt: new Date(Date.now() + 60_000).toISOString(),
      });
    });
    const says = 'list does not answer as it should since 2026-03-15T12:00:00Z';
    expect(await runOk('status')).not.toContain(says);
    await workspace.pretendRunning();
    expect(await runOk('status')).toContain(
      `Needs you:\n  ! ${says}: no answer; no trainer waits for it now\n      → see that it runs, `,
    );
    expect(await runOk('explain', 'cmu1')).toContain(`To do: see how list is: they are in, but ${says}\n`);
  });
});
