import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { NewAccount } from '../../src/sandbox/control-request-schema.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { outcomeOf, signIn } from '../stories/console/signed-in.ts';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';
import { sqlite } from '../support/databases.ts';
import { guidelineTools, openGuidelineJourney, pageOf } from '../support/guidelines/guideline-journey.ts';
import { runCommand } from '../support/run-command.ts';
import { consoleTokens } from '../support/visitor.ts';
import { refused } from './bridge.ts';

const [, [, openDoccano]] = guidelineTools as [unknown, (typeof guidelineTools)[number]];

/** An account with a manual for its job, in the configuration of a bridge that was never started. */
async function openBridge(account: NewAccount = {}) {
  const sandbox = createSandbox({ timeScale: 0 });
  const { baseUrl, employerBaseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const tool = await openDoccano();
  const [project] = tool.projects;
  const { accountId, token } = sandbox.createAccount(account);
  const { id: targetId } = sandbox.createJob({ accountId });
  const pages = [
    { title: 'Signs', content: pageOf('Mark every sign.') },
    { title: 'Images', content: { type: 'doc', content: [{ type: 'image', attrs: { src: 'https://x.example' } }] } },
  ];
  const { manualId, pageIds } = sandbox.createManual(accountId, { bindings: [{ targetId }], pages });
  const { configFile } = createBridgeWorkspace({
    marketplace: { baseUrl, employerBaseUrl },
    installs: { own: { source: 'employer', token, tool: 'studio', jobs: { [targetId]: project } } },
    tools: { studio: tool.settings },
  });
  const gangway = (...argv: string[]) => runCommand(...argv, '--config', configFile);
  await gangway('reconcile');
  return { sandbox, tool, project, manualId, pageIds, gangway };
}

describe('gangway guidelines', { timeout: 60_000 }, () => {
  it('shows what a sync would change, writes it, and shows what was written', async () => {
    const { sandbox, tool, project, manualId, pageIds, gangway } = await openBridge();
    sandbox.publishManual(manualId);
    const diff = await gangway('guidelines', 'diff');
    expect(diff.status).toBe(2);
    expect(diff.stdout.split('\n')).toContain('+ Mark every sign.');
    expect(await tool.read(project)).toBe('');

    const sync = await gangway('guidelines', 'sync');
    expect([sync.status, sync.stdout]).toEqual([0, expect.stringContaining('written')]);
    expect(await tool.shown(project)).toEqual(['Signs', 'Mark every sign.', 'Images', '[Image]']);
    expect(await gangway('guidelines', 'diff')).toMatchObject({ status: 0, stdout: 'Nothing differs.\n' });
    expect((await gangway('guidelines')).stdout).toContain(`publication 1 of ${manualId}`);

    sandbox.editPage(pageIds[0] ?? '', { content: pageOf('Mark every whole sign.') });
    sandbox.publishManual(manualId);
    const changed = await gangway('guidelines', 'diff', '--project', project);
    expect(changed.stdout.split('\n')).toEqual(
      expect.arrayContaining(['- Mark every sign.', '+ Mark every whole sign.', '  # Signs']),
    );
    const shown = await gangway('guidelines', 'show', project);
    expect(shown.stdout).toContain(`written last by Gangway: publication 1 of ${manualId}, 2`);
    expect(shown.stdout).toContain('left out: An image was left out');
  });

  it('does not overwrite what was edited in the tool without --overwrite', async () => {
    const { sandbox, tool, project, manualId, gangway } = await openBridge();
    await tool.edit(project, 'Ask ben@example.com.');
    sandbox.publishManual(manualId);
    const diff = await gangway('guidelines', 'diff');
    expect([diff.status, diff.stdout]).toEqual([3, expect.stringContaining('- Ask b…@example.com.')]);
    const sync = await gangway('guidelines', 'sync', '--json');
    expect([sync.status, JSON.parse(sync.stdout)]).toMatchObject([3, { guidelines: [{ result: 'foreign' }] }]);
    expect((await gangway('status')).stdout).toContain(`gangway guidelines sync --project ${project} --overwrite`);
    expect(await gangway('guidelines', 'sync', '--overwrite')).toMatchObject({ status: 0 });
    expect((await tool.shown(project))[1]).toBe('Mark every sign.');
    const { stdout } = await gangway('audit', '--json');
    expect(stdout).toContain('guidelines sync');
  });

  it('names the missing scope, and what does not work without it', async () => {
    const scopes: NewAccount['scopes'] = ['payments:read', 'messages:read', 'participant_work_email:read'];
    const { sandbox, manualId, gangway } = await openBridge({ scopes });
    sandbox.publishManual(manualId);
    expect(await gangway('guidelines', 'sync')).toMatchObject(refused('instructions:read'));
    expect((await gangway('doctor')).stdout).toContain('Gangway cannot read manuals');
  });

  it('refuses a project without published guidelines, and an install without manuals', async () => {
    const { gangway } = await openBridge();
    expect(await gangway('guidelines', 'show', '999')).toMatchObject(refused('No known link of project 999'));
    const { configFile } = createBridgeWorkspace({});
    const none = await runCommand('guidelines', 'sync', '--config', configFile);
    expect(none).toMatchObject(refused('an account of your own'));
  });
});

describe('guidelines of a running instance', { timeout: 60_000 }, () => {
  beforeEach(() => void vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.otto.token));
  afterEach(() => void vi.unstubAllEnvs());

  it('are compared and written with --remote, and on the page of the install', async () => {
    const journey = await openGuidelineJourney(sqlite, await openDoccano(), { own: {} });
    const { signs, tool, write, consoleUrl } = journey;
    const remote = (...argv: string[]) => runCommand('guidelines', ...argv, '--remote', consoleUrl);
    const manual = write('Mark every sign.', signs.id);
    manual.publish();
    expect((await remote('diff')).status).toBe(2);
    expect((await remote('sync', '--project', signs.project)).stdout).toContain('written');
    expect((await remote('list')).stdout).toContain(`publication 1 of ${manual.id}`);
    expect((await remote('show', signs.project)).stdout).toContain('Mark every sign.');

    manual.edit('Mark every whole sign.');
    manual.publish();
    const { visitor } = await signIn({ consoleUrl }, 'otto');
    const page = await visitor.visit('/installs/own');
    expect(page.text).toContain(`publication 1 of ${manual.id}`);
    const asked = await visitor.press(await visitor.visit('/do/guidelinesSync?install=own'), 'Sync');
    await outcomeOf(visitor, asked);
    expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every whole sign.']);
  });
});
