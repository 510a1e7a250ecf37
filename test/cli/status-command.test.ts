import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { recordToolTrouble } from '../../src/converge/tool-trouble-store.ts';
import { inTransaction } from '../../src/db/database.ts';
import { writeSetting } from '../../src/db/setting-store.ts';
import { noBudget } from '../support/budgets.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { insert } from '../support/insert.ts';
import { refused, useBridge } from './bridge.ts';

describe('gangway status', () => {
  const workspace = useBridge();
  const { run, runOk, runJson } = workspace;

  it('says that nothing runs, since when, and what to do', async () => {
    await runOk('migrate');
    expect(await runOk('status')).toMatch(
      /^Needs you:\n {2}down {5}Gangway has not run on this database yet\. .*\n {11}→ Run gangway start\. .*\n$/,
    );
    await workspace.whileRunning(async () => {
      const text = await runOk('status');
      expect(text).toMatch(/^Nothing needs you\.\n\nInstances\nname .*\n\S+ .* running /);
    });
    const text = await runOk('status');
    expect(text).toMatch(
      /^Needs you:\n {2}down {5}Gangway is not running\. .* \(\d+ s\)\n.*\n\nInstances\n.*\n\S+ .* stopped /,
    );
    const { troubles, instances } = await runJson('status');
    expect(troubles[0].kind).toBe('nothing_runs');
    const stopped = { state: 'stopped', stoppedAt: troubles[0].since, silentForSeconds: expect.any(Number) };
    expect(instances).toMatchObject([stopped]);
  });

  it('creates no database if there is none', async () => {
    const file = path.join(workspace.folder, 'gangway.db');
    const says = `There is no database ${file} yet: set database.url to the one that is meant`;
    expect(await run('status')).toMatchObject(refused(says));
    expect((await run('doctor')).stdout).toContain(`database: There is none at ${file} yet`);
    expect(existsSync(file)).toBe(false);
  });

  it('says right after a command that nothing runs', async () => {
    await workspace.withStorage(async ({ database }) => {
      await inTransaction(database, (tx) => writeSetting(tx, 'last_alive_at', new Date().toISOString()));
    });
    expect(await runOk('status')).toMatch(/^Needs you:\n +down +Gangway is not running\./);
    expect((await run('doctor')).stdout).toContain('warn  nothing_runs: Gangway is not running.');
  });

  it('says that an instance runs with an older configuration', async () => {
    const { configFile } = workspace;
    await workspace.whileRunning(async () => {
      expect(await runOk('status')).toMatch(/^Nothing needs you\./);
      writeFileSync(configFile, readFileSync(configFile));
      const text = await runOk('status');
      expect(text).toMatch(
        /^Nothing needs you\.\n\nWorth knowing:\n {2}notice {3}Instance “.+” runs with an older configuration\./,
      );
      expect(text).toContain(`${configFile} has changed since the start at `);
    });
    expect(await runOk('status')).not.toContain('has changed');
  });

  it('names the tool in trouble while an instance runs, as explain does', async () => {
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
    const says = 'Tool “list” is not answering.';
    expect(await runOk('status')).not.toContain(says);
    await workspace.pretendRunning();
    expect(await runOk('status')).toMatch(
      new RegExp(
        `^Needs you:\n  down     ${says} \\(\\d+ d\\)\n {11}no answer. Next try at .*\n {11}→ Check that the tool runs`,
      ),
    );
    expect(await runOk('explain', 'cmu1')).toContain(
      'To do: Check list. They are in, but list is not answering (since 2026-03-15 12:00 UTC)\n',
    );
  });

  it('ends with --exit-code: 1 if something is down, 2 if something waits', async () => {
    const probe = async () => (await run('status', '--exit-code')).status;
    await runOk('migrate');
    expect(await probe()).toBe(1);
    await workspace.pretendRunning();
    expect(await probe()).toBe(0);
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const budget = { ...noBudget, install: 'acme', contractId: 'c1', isWatched: true };
      await insert(kysely, 'budget', { ...budget, state: 'low' });
    });
    expect(await probe()).toBe(0);
    const createdAt = new Date().toISOString();
    await workspace.receive(fullEvent({ type: 'contract.started', createdAt, workEmail: null }));
    expect(await probe()).toBe(2);
    expect(await runOk('status')).toMatch(
      /^Needs you:\n {2}waiting {2}1 trainer .*(\n.*)+\n\nWorth knowing:\n {2}notice /,
    );
  });
});
