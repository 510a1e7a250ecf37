import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import type { Workspace } from '../support/bridge-workspace.ts';
import { openUsageWorkspace } from '../support/usage-workspace.ts';

/** Forgets what was sent. */
async function forget(workspace: Workspace): Promise<void> {
  await workspace.withStorage(async ({ database }) => {
    await inTransaction(database, (tx) => tx.deleteFrom('usageLedger').execute());
  });
}

/** Has all work read by the next reading, as happens once a day. */
async function readWhollyNext(workspace: Workspace): Promise<void> {
  await workspace.withStorage(async ({ database }) => {
    await inTransaction(database, (tx) => tx.updateTable('usageScope').set({ completeBeganAt: null }).execute());
  });
}

describe('gangway usage', { timeout: 60_000 }, () => {
  it('previews, reports and shows work', async () => {
    const { hired, run } = await openUsageWorkspace();
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
        days: [{ trainerId: hired.trainerId, due: counts, sent: counts, report: { state: 'answered' } }],
        consumed: counts,
        reported: counts,
        differences: [],
        unreported: { seconds: 0, tasks: 0, labels: 0 },
      },
    });
  });

  it('shows work that is not at the marketplace yet, and why', async () => {
    const { count, hired, print, run, today } = await openUsageWorkspace();
    await run('usage', 'report');
    count({ seconds: 700, tasks: 2, labels: 9 });
    const { contractId } = hired;
    await run('usage', 'report', '--to', '2020-01-01');
    const { said } = await run('usage', 'show', contractId);
    expect(said.days).toMatchObject([{ why: 'not_sent', difference: { seconds: 100 } }]);
    expect(said.differences).toEqual([`${today}: to be sent with the next report.`]);
    const shown = await print('usage', 'show', contractId);
    expect(shown.stdout).toMatch(/studio signs .+ answered .+ req_.+ to be sent/);
    expect(shown.stdout).toContain('Consumed by the marketplace: 600 seconds');
  });

  it('changes nothing by a dry run', async () => {
    const { run, today, workspace } = await openUsageWorkspace();
    await run('usage', 'report');
    await forget(workspace);
    const preview = await run('usage', 'preview');
    expect(preview).toMatchObject({
      status: 2,
      said: {
        installs: [{ outcome: 'pending', entries: [{ cause: 'new', day: today }] }],
        readings: [{ tool: 'studio', scope: 'signs', readBeganAt: expect.any(String) }],
      },
    });
    expect(await run('usage', 'preview', '--to', '2020-01-01')).toMatchObject({
      status: 0,
      said: { installs: [{ outcome: 'clean', entries: [] }] },
    });
    await workspace.withStorage(async ({ database: { kysely } }) => {
      expect(await kysely.selectFrom('usageLedger').selectAll().execute()).toEqual([]);
    });
  });

  it("lists held work, and follows an operator's decision", async () => {
    const { count, hired, run, today, workspace } = await openUsageWorkspace();
    count({ seconds: 90_000 });
    expect(await run('usage', 'report')).toMatchObject({
      status: 3,
      said: { installs: [{ outcome: 'held', sent: 0, held: 1 }] },
    });
    const { said } = await run('usage', 'held');
    expect(said).toMatchObject({
      held: [{ reason: 'over_a_day', day: today, state: 'held' }],
      late: [],
      lowerings: [],
    });
    const [{ id }] = said.held;
    expect(await run('usage', 'send', id)).toMatchObject({ status: 64 });
    expect(await run('usage', 'assign', id, 'another')).toMatchObject({ status: 1 });
    const assigned = await run('usage', 'assign', id, hired.contractId);
    expect(assigned).toMatchObject({ status: 1, stderr: expect.stringContaining('more than 24 hours in one day') });
    expect(await run('usage', 'discard', id)).toMatchObject({ status: 0 });
    expect(await run('usage', 'report')).toMatchObject({ status: 0 });
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const audit = await kysely.selectFrom('audit').select('subject').where('action', '=', 'usage held').execute();
      expect(audit).toEqual([{ subject: `${id} discarded` }]);
    });
  });

  it('shows a held lowering the same way everywhere, and its outcome', async () => {
    const { count, hired, print, run, today, workspace } = await openUsageWorkspace();
    await run('usage', 'report');
    count({ seconds: 100, tasks: 1, labels: 2 });
    await readWhollyNext(workspace);
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
      { why: 'lowering_held', report: { heldSince: held.said.lowerings[0].since }, due: after, sent: before },
    ]);
    const trouble = { kind: 'usage_lowering', install: 'acme', count: 1, detail: `0.2 hours, the oldest of ${today}` };
    expect((await run('status')).said.troubles).toContainEqual(expect.objectContaining(trouble));
    const { stdout } = await print('usage', 'held');
    expect(stdout).toMatch(/600 → 100 +2 → 1 +9 → 2 +waits for you/);

    await run('usage', 'report', '--accept-lowered');
    expect((await run('audit')).said.items).toMatchObject([
      { action: 'usage report --accept-lowered', subject: 'acme' },
    ]);
    const reported = await run('usage', 'held');
    expect(reported.said.lowerings).toMatchObject([{ ...of, state: 'reported', from: before, to: after }]);
    expect((await run('usage', 'show', contractId)).said.days).toMatchObject([
      { why: null, report: { lowered: { from: before } } },
    ]);
    const { troubles, lowered } = (await run('status')).said;
    expect([troubles, lowered]).toEqual([
      expect.not.arrayContaining([expect.objectContaining({ kind: trouble.kind })]),
      [{ install: 'acme', days: 1 }],
    ]);
  });

  it('says for a contract, its link and in total what cannot be counted or read', async () => {
    const { count, hired, print, run, workspace } = await openUsageWorkspace();
    count({ seconds: 600 }, { of: 'gap', says: 'labels are not counted today' });
    await run('usage', 'report');
    const { contractId } = hired;
    const shown = await run('usage', 'show', contractId);
    const says = /^not all of the work at signs in studio .+: labels are not counted today/i;
    expect(shown.said.differences).toEqual([expect.stringMatching(says)]);
    const gap = { kind: 'usage_gap', tool: 'studio', detail: 'labels are not counted today' };
    expect((await run('status')).said.troubles).toContainEqual(expect.objectContaining(gap));
    writeFileSync(path.join(workspace.folder, 'work.json'), 'not even JSON');
    await run('usage', 'report');
    expect((await run('usage', 'show', contractId)).said.differences).toContainEqual(
      expect.stringMatching(/^The work at signs in studio was read last at /),
    );
    const { stdout } = await print('links', 'list');
    expect(stdout).toMatch(/signs .+ last read 2\S+: /);
  });

  it('names the tool that cannot be read, and reports earlier work', async () => {
    const { print, run, workspace } = await openUsageWorkspace();
    writeFileSync(path.join(workspace.folder, 'work.json'), 'not even JSON');
    const { status, said } = await run('usage', 'report');
    expect([status, said.unread]).toMatchObject([1, [{ tool: 'studio', scope: 'signs' }]]);
    const { stderr } = await print('usage', 'report');
    expect(stderr).toContain('signs in studio could not be read');
  });
});
