import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openWorld } from '../sandbox/sandbox-harness.ts';
import { createBridgeWorkspace, type Workspace } from '../support/bridge-workspace.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { readRoster } from '../support/roster.ts';
import { runCommand } from '../support/run-command.ts';

describe('gangway tools', { timeout: 30_000 }, () => {
  let workspace: Workspace;

  beforeEach(async () => {
    const { baseUrl } = await openWorld();
    workspace = createBridgeWorkspace({ marketplace: { baseUrl } });
    expect(await runCommand('migrate', '--config', workspace.configFile)).toMatchObject({ status: 0 });
    expect(await tools()).toMatchObject([{ tool: 'list', bound: null }]);
    const createdAt = new Date().toISOString();
    await workspace.receive(fullEvent({ type: 'contract.started', createdAt }));
    expect(readRoster(workspace.rosterFile)).toEqual({ 'street-signs': ['cmu1'] });
  });

  const run = (...argv: string[]) => runCommand(...argv, '--config', workspace.configFile);

  /** Has all members looked at again, as far as that is done at all. */
  async function lookAgain(): Promise<void> {
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const nextAttemptAt = new Date().toISOString();
      await kysely.updateTable('membership').set({ nextAttemptAt }).execute();
    });
    // Its token is refused, but what is known is still done.
    await run('reconcile', '--wait', '3s');
  }

  async function tools(): Promise<object[]> {
    const { stdout } = await run('tools', 'list', '--json');
    return (JSON.parse(stdout) as { tools: object[] }).tools;
  }

  async function findTrouble(): Promise<string[]> {
    const { stdout } = await run('doctor', '--json');
    const { checks } = JSON.parse(stdout) as {
      checks: { name: string; status: string; says: string }[];
    };
    return checks
      .filter(({ name, status }) => name === 'server of list' && status === 'failure')
      .map(({ says }) => says);
  }

  function moveRoster(): string {
    const text = readFileSync(workspace.configFile, 'utf8');
    writeFileSync(workspace.configFile, text.replace('roster.json', 'other.json'));
    return path.join(workspace.folder, 'other.json');
  }

  it('leaves another server alone, which doctor names, until it is accepted', async () => {
    const { rosterFile: location } = workspace;
    expect(await tools()).toEqual([{ tool: 'list', location, bound: { identity: null, location } }]);
    expect(await findTrouble()).toEqual([]);

    const other = moveRoster();
    writeFileSync(other, '{"groups": {}}');
    expect(await findTrouble()).toEqual([
      expect.stringMatching(/other\.json\).+roster\.json\).+gangway tools accept list$/),
    ]);
    await lookAgain();
    expect(readRoster(other)).toEqual({});
    expect(readRoster(location)).toEqual({ 'street-signs': ['cmu1'] });

    const accepted = await run('tools', 'accept', 'list');
    expect(accepted).toMatchObject({ status: 0, stdout: `list is ${other} now.\n` });
    expect(await findTrouble()).toEqual([]);
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const audit = await kysely.selectFrom('audit').selectAll().execute();
      expect(audit).toMatchObject([{ action: 'tools accept', subject: 'list' }]);
    });
    await lookAgain();
    expect(readRoster(other)).toEqual({ 'street-signs': ['cmu1'] });
    expect((await run('tools')).stdout).toMatch(/^tool +address +its people are in\nlist /);
  });

  it('names the existing tools', async () => {
    const { status, stderr } = await run('tools', 'accept', 'lits');
    expect([status, stderr]).toEqual([1, expect.stringContaining('there are: list')]);
  });
});
