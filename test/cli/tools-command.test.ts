import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openWorld } from '../sandbox/sandbox-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { readRoster } from '../support/roster.ts';
import { refused, useBridge } from './bridge.ts';

describe('gangway tools', { timeout: 30_000 }, () => {
  const workspace = useBridge(async () => ({ marketplace: { baseUrl: (await openWorld()).baseUrl } }));
  const { run, runJson, runOk } = workspace;

  beforeEach(async () => {
    await runOk('migrate');
    expect(await tools()).toMatchObject([{ tool: 'list', bound: null }]);
    const createdAt = new Date().toISOString();
    await workspace.receive(fullEvent({ type: 'contract.started', createdAt }));
    expect(readRoster(workspace.rosterFile)).toEqual({ 'street-signs': ['cmu1'] });
  });

  /** Has all members looked at again, as far as that is done at all. */
  async function lookAgain(): Promise<void> {
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const nextAttemptAt = new Date().toISOString();
      await kysely.updateTable('membership').set({ nextAttemptAt }).execute();
    });
    // Its token is refused, but what is known is still done.
    await run('reconcile', '--wait', '3s');
  }

  const tools = async () => (await runJson('tools', 'list')).tools;

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

    expect(await runOk('tools', 'accept', 'list')).toBe(`list is ${other} now.\n`);
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
    expect(await run('tools', 'accept', 'lits')).toMatchObject(refused('there are: list'));
  });
});
