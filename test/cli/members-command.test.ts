import { beforeEach, describe, expect, it } from 'vitest';
import { createBridgeWorkspace, type Workspace } from '../support/bridge-workspace.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { type CommandResult, runCommand } from '../support/run-command.ts';

describe('gangway members adopt and release', () => {
  let workspace: Workspace;

  beforeEach(() => {
    workspace = createBridgeWorkspace();
  });

  const run = (...argv: string[]): Promise<CommandResult> => runCommand(...argv, '--config', workspace.configFile);

  async function runOk(...argv: string[]): Promise<string> {
    const { status, stdout } = await run(...argv);
    expect(status).toBe(0);
    return stdout;
  }

  /** An account that was known to be a trainer's, and is not known to be theirs any more. */
  const doubt = (doubtedId: string) =>
    workspace.withStorage(async ({ database: { kysely } }) => {
      await kysely.updateTable('membership').set({ doubtedId }).execute();
    });

  it('decide whose account it is if it shows an address that no source reported', async () => {
    const createdAt = new Date(Date.now() - 60_000).toISOString();
    await workspace.receive(fullEvent({ type: 'contract.started', createdAt }));
    const unreported = ['members', 'adopt', '1', '--address', 'erin@lab.example'];
    expect(await run(...unreported)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: 'gangway: Membership 1 has no account in doubt\n',
    });
    await doubt('77');
    const explained = await runOk('explain', 'cmu1');
    expect(explained).toContain('account 77, which was theirs, now shows an email that no source has reported');
    expect(explained).toContain('gangway members adopt 1 --address <the address it shows> if');
    expect(explained).toContain('or gangway members release 1 --doubted if');
    expect(await runOk('members')).toContain('account 77: whose is it?');
    expect(await run('members', 'release', '1')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(
        'The account of membership 1 is in doubt. First run gangway members adopt 1 --address',
      ) as string,
    });
    expect(await runOk('members', 'release', '1', '--doubted')).toBe(
      'Membership 1 does not own that account, which stays as it is.\n',
    );
    expect(await run('members', 'release', '1', '--doubted')).toMatchObject({
      status: 1,
      stderr: 'gangway: Membership 1 has no account in doubt\n',
    });
    await doubt('78');
    const address = ['--address', 'amara@home.example'];
    const adopted = await runOk('members', 'adopt', '1', ...address, '--json');
    expect(JSON.parse(adopted)).toMatchObject({ decided: [{ membershipId: 1, outcome: 'adopted' }] });
    expect(await runOk('explain', 'cmu1')).not.toContain('78');
  });
});

it('gangway members converge is refused for a membership that waits for something else', async () => {
  const workspace = createBridgeWorkspace();
  await workspace.receive(fullEvent({ type: 'contract.started', createdAt: new Date().toISOString() }));
  const converge = () => runCommand('members', 'converge', '1', '--config', workspace.configFile);
  expect(await converge()).toMatchObject({ status: 0, stdout: expect.stringContaining('syncs membership 1 now') });
  await workspace.withStorage(async ({ database: { kysely } }) => {
    await kysely.updateTable('membership').set({ state: 'held', wanted: false }).execute();
  });
  const stderr = 'gangway: Membership 1 is held, so a sync would change nothing\n';
  expect(await converge()).toMatchObject({ status: 1, stdout: '', stderr });
});
