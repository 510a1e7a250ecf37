import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { NewAccount } from '../../src/sandbox/control-request-schema.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { createBridgeWorkspace, type Workspace } from '../support/bridge-workspace.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { readRoster } from '../support/roster.ts';
import { type CommandResult, createStdin, type RunningCommand, runCommand, startAt } from '../support/run-command.ts';
import { until } from '../support/until.ts';

describe('gangway contracts end-at-marketplace', { timeout: 60_000 }, () => {
  let sandbox: Sandbox;
  let workspace: Workspace;
  let contractId: string;
  let trainerId: string;

  beforeEach(() => openAccount());

  async function openAccount(account: NewAccount = {}): Promise<void> {
    sandbox = createSandbox({ timeScale: 0 });
    const { baseUrl, employerBaseUrl } = await sandbox.start();
    onTestFinished(() => sandbox.stop());
    const { accountId, token } = sandbox.createAccount(account);
    const { id: jobId } = sandbox.createJob({ accountId });
    workspace = createBridgeWorkspace({
      marketplace: { baseUrl, employerBaseUrl },
      installs: { own: { source: 'employer', token, tool: 'list', jobs: { [jobId]: 'signs' } } },
    });
    const hired = sandbox.hire({ jobId });
    contractId = hired.contractId;
    trainerId = hired.trainers[0]?.opentrainUserId ?? '';
    await reconcile();
  }

  const config = () => ['--config', workspace.configFile];
  const people = () => readRoster(workspace.rosterFile)['signs'] ?? [];
  const reconcile = () => runCommand('reconcile', ...config());
  const argv = (...more: string[]) => ['contracts', 'end-at-marketplace', contractId, ...more, ...config()];
  const end = (...more: string[]): Promise<CommandResult> => runCommand(...argv(...more));

  /** Types the id, and resolves when a person at the marketplace is waited for. */
  async function askForEnd(): Promise<{ command: RunningCommand; approvalId: string }> {
    const command = startAt(createStdin(contractId), ...argv());
    const stderr = await until('an approval waits', command.stderr, (text) => /approval \S+ waits/.test(text));
    return { command, approvalId: /approval (\S+) waits/.exec(stderr)?.[1] ?? '' };
  }

  it('ends a contract without funded money once its id is typed', async () => {
    expect(people()).toEqual([trainerId]);
    const ended = await startAt(createStdin(contractId), ...argv()).ended;
    expect(ended).toMatchObject({ status: 0, stdout: expect.stringContaining(`has ended the contract ${contractId}`) });
    expect(ended.stderr).toContain(`ends the contract ${contractId}`);
    await reconcile();
    expect(people()).toEqual([]);
    const { stdout } = await runCommand('audit', '--json', ...config());
    expect(stdout).toContain('contracts end-at-marketplace');
  });

  it('ends a contract with funded money when a person has confirmed it', async () => {
    sandbox.fundMilestone(contractId);
    const { command, approvalId } = await askForEnd();
    expect(command.stderr()).toMatch(/until \d{4}-\S+ for a person at the marketplace: https:\/\/\S+/);
    await reconcile();
    expect(people()).toEqual([trainerId]);
    sandbox.resolveApproval(approvalId, 'confirmed');
    expect(await command.ended).toMatchObject({ status: 0 });
    await reconcile();
    expect(people()).toEqual([]);
  });

  it.each(['declined', 'expired'] as const)('ends nothing where the approval is %s', async (status) => {
    sandbox.fundMilestone(contractId);
    const { command, approvalId } = await askForEnd();
    sandbox.resolveApproval(approvalId, status);
    expect(await command.ended).toMatchObject({ status: 1, stdout: expect.stringContaining('it goes on') });
    await reconcile();
    expect(people()).toEqual([trainerId]);
  });

  it('can be left, and follows the same approval if it is repeated', async () => {
    sandbox.fundMilestone(contractId);
    const left = await end('--confirm', contractId, '--leave', '--json');
    const said = JSON.parse(left.stdout) as { outcome: string; approval: { id: string } };
    expect([left.status, said.outcome]).toEqual([2, 'pending']);
    const { command, approvalId } = await askForEnd();
    expect(approvalId).toBe(said.approval.id);
    command.stop();
    expect(await command.ended).toMatchObject({ status: 2 });
    sandbox.resolveApproval(approvalId, 'confirmed');
    expect(await end('--confirm', contractId)).toMatchObject({ status: 0 });
  });

  it('goes on while the marketplace is unreachable', async () => {
    sandbox.fundMilestone(contractId);
    const { command, approvalId } = await askForEnd();
    sandbox.setFaults(undefined, { serverError: { probability: 1, operations: ['GET /approvals/{id}'] } });
    sandbox.resolveApproval(approvalId, 'confirmed');
    sandbox.setFaults(undefined);
    expect(await command.ended).toMatchObject({ status: 0 });
  });

  it('sends nothing unless the id is typed', async () => {
    const typedWrongly = await startAt(createStdin('yes'), ...argv()).ended;
    const withoutTerminal = await end();
    const another = await end('--confirm', 'ctr_other');
    for (const { status, stderr } of [typedWrongly, withoutTerminal, another]) {
      expect([status, stderr]).toEqual([1, expect.stringContaining('Nothing was requested')]);
    }
    expect(await end('--leave', '--no-such')).toMatchObject({ status: 64 });
    await reconcile();
    expect(people()).toEqual([trainerId]);
  });

  it.each<[string, NewAccount, string]>([
    [
      'the scope is missing',
      { scopes: ['payments:read', 'messages:read', 'participant_work_email:read'] },
      'payments:write',
    ],
    ['the feature is off', { featuresOff: ['public_api_payments_write'] }, 'public_api_payments_write'],
  ])('says so if %s, and ends nothing', async (_, account, says) => {
    await openAccount(account);
    expect(await end('--confirm', contractId)).toMatchObject({ status: 1, stderr: expect.stringContaining(says) });
    await reconcile();
    expect(people()).toEqual([trainerId]);
  });

  it('says that an account must be claimed first, and where', async () => {
    await openAccount({ isClaimed: false });
    const { status, stderr } = await end('--confirm', contractId);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/https:\/\/\S*claim/)]);
  });

  it("is not for a platform's install", async () => {
    workspace = createBridgeWorkspace();
    await workspace.receive(fullEvent({ type: 'contract.started', contract: 'cmc1' }));
    const ended = await runCommand('contracts', 'end-at-marketplace', 'cmc1', '--confirm', 'cmc1', ...config());
    expect(ended).toMatchObject({ status: 1, stderr: expect.stringContaining('cannot end contracts') });
  });
});
