import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { NewAccount } from '../../src/sandbox/control-request-schema.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { readRoster } from '../support/roster.ts';
import { createStdin, type RunningCommand, startAt } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { refused, useBridge } from './bridge.ts';

describe('gangway contracts end-at-marketplace', { timeout: 60_000 }, () => {
  const workspace = useBridge();
  const { run } = workspace;
  let sandbox: Sandbox;
  let contractId: string;
  let trainerId: string;

  beforeEach(() => openAccount());

  async function openAccount(account: NewAccount = {}): Promise<void> {
    sandbox = createSandbox({ timeScale: 0 });
    const { baseUrl, employerBaseUrl } = await sandbox.start();
    onTestFinished(() => sandbox.stop());
    const { accountId, token } = sandbox.createAccount(account);
    const { id: jobId } = sandbox.createJob({ accountId });
    workspace.changeConfig({
      marketplace: { baseUrl, employerBaseUrl },
      installs: { own: { source: 'employer', token, tool: 'list', jobs: { [jobId]: 'signs' } } },
    });
    const hired = sandbox.hire({ jobId });
    contractId = hired.contractId;
    trainerId = hired.trainers[0]?.opentrainUserId ?? '';
    await reconcile();
  }

  const people = () => readRoster(workspace.rosterFile)['signs'] ?? [];
  const reconcile = () => run('reconcile');
  const end = (...more: string[]) => run('contracts', 'end-at-marketplace', contractId, ...more);

  /** At a terminal at which this is typed. */
  const endTyping = (typed: string) =>
    startAt(createStdin(typed), 'contracts', 'end-at-marketplace', contractId, '--config', workspace.configFile);

  /** Types the id, and resolves when a person at the marketplace is waited for. */
  async function askForEnd(): Promise<{ command: RunningCommand; approvalId: string }> {
    const command = endTyping(contractId);
    const stderr = await until('an approval waits', command.stderr, (text) => /approval \S+ waits/.test(text));
    return { command, approvalId: /approval (\S+) waits/.exec(stderr)?.[1] ?? '' };
  }

  it('ends a contract without funded money once its id is typed', async () => {
    expect(people()).toEqual([trainerId]);
    const ended = await endTyping(contractId).ended;
    expect(ended).toMatchObject({ status: 0, stdout: expect.stringContaining(`has ended the contract ${contractId}`) });
    expect(ended.stderr).toContain(`ends the contract ${contractId}`);
    await reconcile();
    expect(people()).toEqual([]);
    const { stdout } = await run('audit', '--json');
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
    const typedWrongly = await endTyping('yes').ended;
    const withoutTerminal = await end();
    const another = await end('--confirm', 'ctr_other');
    for (const ended of [typedWrongly, withoutTerminal, another]) {
      expect(ended).toMatchObject(refused('Nothing was requested'));
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
    workspace.open({});
    await openAccount(account);
    expect(await end('--confirm', contractId)).toMatchObject(refused(says));
    await reconcile();
    expect(people()).toEqual([trainerId]);
  });

  it('says that an account must be claimed first, and where', async () => {
    workspace.open({});
    await openAccount({ isClaimed: false });
    expect(await end('--confirm', contractId)).toMatchObject(refused(/https:\/\/\S*claim/));
  });

  it("is not for a platform's install", async () => {
    workspace.open({});
    await workspace.receive(fullEvent({ type: 'contract.started', contract: 'cmc1' }));
    const ended = await run('contracts', 'end-at-marketplace', 'cmc1', '--confirm', 'cmc1');
    expect(ended).toMatchObject(refused('cannot end contracts'));
  });
});
