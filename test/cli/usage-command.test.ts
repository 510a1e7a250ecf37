import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { createBridgeWorkspace, type Workspace } from '../support/bridge-workspace.ts';
import { runCommand } from '../support/run-command.ts';

/** An adapter in a file, which reads the work from another file beside it. */
const adapterSource = `
import { readFileSync } from 'node:fs';
export default () => ({
  capabilities: {
    removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'membership',
    usage: { counts: ['seconds', 'tasks', 'labels'], outlivesRemoval: true },
  },
  check: async () => [],
  groupFor: ({ externalProjectId }) => externalProjectId,
  findMember: async (group, { trainerId }) => ({ id: trainerId, email: null }),
  addMember: async (group, { trainerId }) => ({ id: trainerId, email: null }),
  removeMember: async () => undefined,
  usageScopeFor: ({ externalProjectId }) => externalProjectId,
  async *readUsage() {
    yield* JSON.parse(readFileSync(new URL('./work.json', import.meta.url), 'utf8'));
  },
});
`;

describe('gangway usage', { timeout: 60_000 }, () => {
  let sandbox: Sandbox;
  let workspace: Workspace;
  let hired: { contractId: string; trainerId: string };
  const today = new Date().toISOString().slice(0, 10);

  beforeEach(async () => {
    sandbox = createSandbox();
    const { baseUrl } = await sandbox.start();
    onTestFinished(() => sandbox.stop());
    const { installId, token } = sandbox.createInstall({ piiConsent: true });
    const { id: jobId } = sandbox.createJob({ installId });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ externalProjectId: 'signs', jobId });
    await fetch(`${baseUrl}/project-links`, { method: 'POST', headers, body });
    workspace = createBridgeWorkspace({
      marketplace: { baseUrl },
      installs: { acme: { token, tool: 'studio', projects: ['*'] } },
      tools: { studio: { adapter: './studio.js' } },
    });
    writeFileSync(path.join(workspace.folder, 'studio.js'), adapterSource);
    writeFileSync(path.join(workspace.folder, 'package.json'), '{"type":"module"}');
    const { contractId, trainers } = sandbox.hire({ jobId });
    hired = { contractId, trainerId: trainers[0]?.opentrainUserId ?? '' };
    tell({ seconds: 600, tasks: 2, labels: 9 });
    const { status, stderr } = await run('reconcile');
    // A slow machine is told how far it has come, on the same stream as problems are.
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('acme:')]);
  });

  function tell(counts: object, ...more: object[]): void {
    const day = { memberId: hired.trainerId, of: 'day', day: today, ...counts };
    writeFileSync(path.join(workspace.folder, 'work.json'), JSON.stringify([day, ...more]));
  }

  async function run(...argv: string[]) {
    const { status, stdout, stderr } = await runCommand(...[...argv, '--json', '--config', workspace.configFile]);
    // biome-ignore lint/suspicious/noExplicitAny: what a test expects is said by its assertions
    return { status, stderr, said: JSON.parse(stdout || '{}') as any };
  }

  it('reports what was done, says what it would, and shows what is known', async () => {
    expect(await run('usage', 'report')).toMatchObject({
      status: 0,
      said: { installs: [{ outcome: 'applied', sent: 1, held: 0, failure: null }], unread: [] },
    });
    expect(await run('usage', 'report')).toMatchObject({
      status: 0,
      said: { installs: [{ outcome: 'clean', sent: 0, requests: 0 }] },
    });
    const shown = await run('usage', 'show', hired.contractId);
    const counts = { seconds: 600, tasks: 2, labels: 9 };
    expect(shown).toMatchObject({
      status: 0,
      said: {
        days: [{ trainerId: hired.trainerId, seen: counts, sent: counts, state: 'answered' }],
        consumed: counts,
        reported: counts,
        differences: [],
        explained: { verdict: 'equal' },
      },
    });
  });

  it('shows what was seen since, and why it is not at the marketplace', async () => {
    await run('usage', 'report');
    tell({ seconds: 700, tasks: 2, labels: 9 });
    const { contractId } = hired;
    await run('usage', 'report', '--to', '2020-01-01');
    const { said } = await run('usage', 'show', contractId);
    expect(said.days).toMatchObject([{ why: 'not_sent', difference: { seconds: 100 } }]);
    expect(said.differences).toEqual([`${today}: to be sent with the next report.`]);
    const shown = await runCommand('usage', 'show', contractId, '--config', workspace.configFile);
    expect(shown.stdout).toMatch(/studio signs .+ answered .+ req_.+ to be sent/);
    expect(shown.stdout).toContain('Consumed by the marketplace: 600 seconds');
  });

  it('changes nothing by a dry run', async () => {
    await run('usage', 'report');
    await forget();
    const preview = await run('usage', 'report', '--dry-run');
    expect(preview).toMatchObject({
      status: 2,
      said: {
        installs: [{ outcome: 'pending', entries: [{ cause: 'new', day: today }] }],
        readings: [{ tool: 'studio', scope: 'signs', ageSeconds: expect.any(Number) }],
      },
    });
    expect(await run('usage', 'report', '--dry-run', '--to', '2020-01-01')).toMatchObject({
      status: 0,
      said: { installs: [{ outcome: 'clean', entries: [] }] },
    });
    await workspace.withStorage(async ({ database: { kysely } }) => {
      expect(await kysely.selectFrom('usageLedger').selectAll().execute()).toEqual([]);
    });
  });

  /** Forgets what was sent. */
  async function forget(): Promise<void> {
    await workspace.withStorage(async ({ database }) => {
      await inTransaction(database, (tx) => tx.deleteFrom('usageLedger').execute());
    });
  }

  /** Has all work read by the next reading, as happens once a day. */
  async function readWhollyNext(): Promise<void> {
    await workspace.withStorage(async ({ database }) => {
      await inTransaction(database, (tx) => tx.updateTable('usageScope').set({ completeBeganAt: null }).execute());
    });
  }

  it('says what is held, and does what an operator decides about it', async () => {
    tell({ seconds: 90_000 });
    expect(await run('usage', 'report')).toMatchObject({
      status: 3,
      said: { installs: [{ outcome: 'held', sent: 0, held: 1 }] },
    });
    const { said } = await run('usage', 'held');
    expect(said.held).toMatchObject([{ reason: 'over_a_day', observation: { day: today } }]);
    const [{ id }] = said.held;
    expect(await run('usage', 'held', id)).toMatchObject({ status: 64 });
    expect(await run('usage', 'held', id, '--assign', 'another')).toMatchObject({ status: 1 });
    expect(await run('usage', 'held', id, '--discard')).toMatchObject({ status: 0 });
    expect(await run('usage', 'report')).toMatchObject({ status: 0 });
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const audit = await kysely.selectFrom('audit').select('subject').execute();
      expect(audit).toEqual([{ subject: `${id} discarded` }]);
    });
  });

  it('shows a lowering that is held alike wherever it is asked for, and what became of it', async () => {
    await run('usage', 'report');
    tell({ seconds: 100, tasks: 1, labels: 2 });
    await readWhollyNext();
    expect(await run('usage', 'report')).toMatchObject({ status: 3 });
    const { contractId, trainerId } = hired;
    const of = { install: 'acme', contractId, trainerId, day: today };
    const before = { seconds: 600, tasks: 2, labels: 9 };
    const after = { seconds: 100, tasks: 1, labels: 2 };
    const held = await run('usage', 'held');
    expect(held.said).toMatchObject({
      held: [],
      lowerings: [{ ...of, state: 'held', from: before, to: after }],
    });
    const shown = await run('usage', 'show', contractId);
    expect(shown.said.days).toMatchObject([
      { why: 'lowering_held', heldSince: held.said.lowerings[0].since, seen: after, sent: before },
    ]);
    const says = 'days of usage of acme that would be lowered, held until an operator accepts it: 1';
    expect((await run('status')).said.attention).toContainEqual(expect.objectContaining({ says }));
    const { stdout } = await runCommand('usage', 'held', '--config', workspace.configFile);
    expect(stdout).toMatch(/600 → 100 +2 → 1 +9 → 2 +waits for you/);

    await run('usage', 'report', '--accept-lowered');
    expect((await run('audit')).said.acts).toMatchObject([
      { action: 'usage report --accept-lowered', subject: 'acme' },
    ]);
    const reported = await run('usage', 'held');
    expect(reported.said.lowerings).toMatchObject([{ ...of, state: 'reported', from: before, to: after }]);
    expect((await run('usage', 'show', contractId)).said.days).toMatchObject([
      { why: null, lowered: { from: before } },
    ]);
    const { attention, lowered } = (await run('status')).said;
    expect([attention, lowered]).toEqual([
      expect.not.arrayContaining([expect.objectContaining({ says })]),
      [{ install: 'acme', days: 1 }],
    ]);
  });

  it('says of a contract, its link and the whole what cannot be counted or read', async () => {
    tell({ seconds: 600 }, { of: 'gap', says: 'labels are not counted today' });
    await run('usage', 'report');
    const { contractId } = hired;
    const shown = await run('usage', 'show', contractId);
    const says = /^not all of the work at signs in studio .+: labels are not counted today/i;
    expect(shown.said.differences).toEqual([expect.stringMatching(says)]);
    const { attention } = (await run('status')).said;
    expect(attention).toContainEqual(expect.objectContaining({ says: expect.stringMatching(says) }));
    writeFileSync(path.join(workspace.folder, 'work.json'), 'not even JSON');
    await run('usage', 'report');
    expect((await run('usage', 'show', contractId)).said.differences).toContainEqual(
      expect.stringMatching(/^The work at signs in studio was read last at /),
    );
    const { stdout } = await runCommand('links', 'list', '--config', workspace.configFile);
    expect(stdout).toMatch(/signs .+ read last 2\S+: /);
  });

  it('says which tool could not be read, and reports what was seen before', async () => {
    writeFileSync(path.join(workspace.folder, 'work.json'), 'not even JSON');
    const { status, stderr, said } = await run('usage', 'report');
    expect([status, said.unread]).toMatchObject([1, [{ tool: 'studio', scope: 'signs' }]]);
    expect(stderr).toContain('signs in studio could not be read');
  });
});
