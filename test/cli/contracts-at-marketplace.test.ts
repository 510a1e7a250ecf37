import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { NewAccount } from '../../src/sandbox/control-request-schema.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { readRoster } from '../support/roster.ts';
import { createStdin, type RunningCommand, startAt } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { refused, useBridge } from './bridge.ts';

describe('gangway marketplace contracts end', { timeout: 60_000 }, () => {
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
  /** The installs that a running bridge would read now. */
  async function readsWanted(): Promise<string[]> {
    let wanted: string[] = [];
    await workspace.withStorage(async ({ database }) => {
      const reads = database.kysely.selectFrom('job').select('key').where('kind', '=', 'reconcile');
      wanted = (await reads.where('asks', '>', 0).execute()).map(({ key }) => key);
    });
    return wanted;
  }

  const words = () => ['marketplace', 'contracts', 'end', contractId];
  const end = (...more: string[]) => run(...words(), ...more);
  const endTyping = (typed: string, ...more: string[]) =>
    startAt(createStdin(typed), ...words(), ...more, '--config', workspace.configFile);

  /** Resolves when a person at the marketplace is waited for. */
  async function askForEnd(): Promise<{ command: RunningCommand; approvalId: string }> {
    const command = endTyping('y', '--wait', '1h');
    const stderr = await until('an approval waits', command.stderr, (text) => /approval \S+ waits/.test(text));
    return { command, approvalId: /approval (\S+) waits/.exec(stderr)?.[1] ?? '' };
  }

  it('ends a contract without funded money once it is confirmed, and has the install read', async () => {
    expect(people()).toEqual([trainerId]);
    const ended = await endTyping('y').ended;
    expect(ended).toMatchObject({ status: 0, stdout: expect.stringMatching(/status +ended/) });
    expect(ended.stderr).toContain(`end a contract at the marketplace: ${contractId}`);
    expect(await readsWanted()).toEqual(['own']);
    await reconcile();
    expect(people()).toEqual([]);
    const { stdout } = await run('audit', '--json');
    expect(stdout).toContain('marketplace contracts.end');
  });

  it('ends a contract with funded money when a person has confirmed it', async () => {
    sandbox.fundMilestone(contractId);
    const { command, approvalId } = await askForEnd();
    expect(command.stderr()).toMatch(/until \d{4}-\S+ for a person at the marketplace: https:\/\/\S+/);
    await reconcile();
    expect(people()).toEqual([trainerId]);
    sandbox.resolveApproval(approvalId, 'confirmed');
    expect(await command.ended).toMatchObject({ status: 0 });
    expect(await readsWanted()).toEqual(['own']);
    await reconcile();
    expect(people()).toEqual([]);
  });

  it.each(['declined', 'expired'] as const)('ends nothing where the approval is %s', async (status) => {
    sandbox.fundMilestone(contractId);
    const { command, approvalId } = await askForEnd();
    sandbox.resolveApproval(approvalId, status);
    expect(await command.ended).toMatchObject({ status: 1, stdout: expect.stringContaining(status) });
    await reconcile();
    expect(people()).toEqual([trainerId]);
  });

  it('can be left, and follows the same approval if it is repeated', async () => {
    sandbox.fundMilestone(contractId);
    const left = await end('--yes', '--json');
    const { approval } = JSON.parse(left.stdout) as { approval: { id: string; status: string } };
    expect([left.status, approval.status]).toEqual([0, 'pending']);
    const { command, approvalId } = await askForEnd();
    expect(approvalId).toBe(approval.id);
    command.stop();
    expect(await command.ended).toMatchObject({ status: 2 });
    sandbox.resolveApproval(approvalId, 'confirmed');
    expect(await end('--yes')).toMatchObject(refused('The contract has ended'));
    await reconcile();
    expect(people()).toEqual([]);
  });

  it('goes on while the marketplace is unreachable', async () => {
    sandbox.fundMilestone(contractId);
    const { command, approvalId } = await askForEnd();
    sandbox.setFaults(undefined, { serverError: { probability: 1, operations: ['GET /approvals/{id}'] } });
    sandbox.resolveApproval(approvalId, 'confirmed');
    sandbox.setFaults(undefined);
    expect(await command.ended).toMatchObject({ status: 0 });
  });

  it('sends nothing unless it is confirmed', async () => {
    expect(await endTyping('n').ended).toMatchObject(refused('Nothing was sent'));
    expect(await end()).toMatchObject(refused('--yes confirms it', 64));
    expect(await readsWanted()).toEqual([]);
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
    expect(await end('--yes')).toMatchObject(refused(says));
    await reconcile();
    expect(people()).toEqual([trainerId]);
  });

  it('says that an account must be claimed first, and where', async () => {
    workspace.open({});
    await openAccount({ isClaimed: false });
    expect(await end('--yes')).toMatchObject(refused(/https:\/\/\S*claim/));
  });
});
