import { describe, expect, it } from 'vitest';
import { clock, openWorld, today, type World } from './sandbox-harness.ts';

interface Working extends World {
  contractId: string;
  trainerId: string;
}

const yesterday = '2026-03-14';

describe('a usage report', () => {
  it('replaces the totals of its worker and day, and keeps the fields it leaves out', async () => {
    const world = await openWorking();
    const steps = [
      [{ totalSeconds: 600, tasksCompleted: 3, labelsCompleted: 9 }, 600, 3, 9],
      [{ totalSeconds: 600, tasksCompleted: 3, labelsCompleted: 9 }, 600, 3, 9],
      [{ totalSeconds: 900 }, 900, 3, 9],
      [{ tasksCompleted: 1 }, 900, 1, 9],
      [{ totalSeconds: 0, tasksCompleted: 0, labelsCompleted: 0 }, 0, 0, 0],
    ] as const;
    for (const [totals, seconds, tasks, labels] of steps) {
      const { status, body } = await report(world, [{ workDate: today, ...totals }]);
      expect(status).toBe(200);
      expect(body).toMatchObject({ contractId: world.contractId, accepted: 1 });
      expect(body.budget.consumed).toEqual({ seconds, hours: seconds / 3600, labels, tasks });
    }
  });

  it('adds up days and workers', async () => {
    const world = await openWorking({ trainers: 2 });
    const [one, two] = world.sandbox.snapshot().contracts[0]?.participants ?? [];
    const entries = [
      { workDate: today, totalSeconds: 10 },
      { workDate: yesterday, totalSeconds: 200 },
      { workDate: today, totalSeconds: 3000, workerOpentrainUserId: two?.opentrainUserId },
      { workDate: today, totalSeconds: 40, workerOpentrainUserId: one?.opentrainUserId },
    ];
    const { body } = await report(world, entries);
    expect(body.accepted).toBe(4);
    // The first and the last entry are for the same worker and day.
    expect(body.budget.consumed.seconds).toBe(40 + 200 + 3000);
  });

  it.each([
    ['no entries', []],
    ['101 entries', Array.from({ length: 101 }, () => ({ workDate: today }))],
    ['a day that has not begun in UTC', [{ workDate: '2026-03-16' }]],
    ['a day that does not exist', [{ workDate: '2026-02-30' }]],
    ['a malformed day', [{ workDate: '15.03.2026' }]],
    ['an instant for a day', [{ workDate: `${today}T00:00:00Z` }]],
    ['no day', [{ totalSeconds: 1 }]],
    ['more seconds than a day has', [{ workDate: today, totalSeconds: 86_401 }]],
    ['negative seconds', [{ workDate: today, totalSeconds: -1 }]],
    ['half a second', [{ workDate: today, totalSeconds: 0.5 }]],
    ['a negative number of tasks', [{ workDate: today, tasksCompleted: -1 }]],
    ['a negative number of labels', [{ workDate: today, labelsCompleted: -1 }]],
    ['a total of null', [{ workDate: today, totalSeconds: null }]],
    ['a worker who is no participant', [{ workDate: today, workerOpentrainUserId: 'usr_other' }]],
  ])('is refused as a whole for %s', async (_, badEntries) => {
    const world = await openWorking();
    const good = { workDate: today, totalSeconds: 77 };
    const entries = badEntries.length === 1 ? [good, ...badEntries] : badEntries;
    const { status, body } = await report(world, entries);
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    const budget = await world.api('GET', `/contracts/${world.contractId}/budget`);
    expect(budget.body).toMatchObject({ consumed: { seconds: 0 }, lastUsageAt: null });
  });

  it('is shown by the state, day by day', async () => {
    const world = await openWorking({ trainers: 2 });
    const [one, two] = world.sandbox.snapshot().contracts[0]?.participants ?? [];
    await report(world, [
      { workDate: today, totalSeconds: 40, workerOpentrainUserId: two?.opentrainUserId },
      { workDate: yesterday, totalSeconds: 200, tasksCompleted: 3, labelsCompleted: 9 },
    ]);
    const none = { tasksCompleted: 0, labelsCompleted: 0 };
    const [{ usage } = {}] = world.sandbox.snapshot().contracts;
    expect(usage).toEqual([
      {
        workDate: yesterday,
        workerOpentrainUserId: one?.opentrainUserId,
        totalSeconds: 200,
        tasksCompleted: 3,
        labelsCompleted: 9,
      },
      { workDate: today, workerOpentrainUserId: two?.opentrainUserId, totalSeconds: 40, ...none },
    ]);
  });

  it('may have 100 entries and fill a whole day', async () => {
    const world = await openWorking();
    const entries = Array.from({ length: 100 }, () => ({ workDate: today, totalSeconds: 86_400 }));
    const { status, body } = await report(world, entries);
    expect([status, body.accepted, body.budget.consumed.seconds]).toEqual([200, 100, 86_400]);
  });

  it('is answered 409 while the contract has no hired trainer', async () => {
    const world = await openWorking();
    const { sandbox, contractId, trainerId } = world;
    sandbox.replaceParticipant(contractId, { leaves: trainerId });
    const { status, body } = await report(world, [{ workDate: today }]);
    expect([status, body.code]).toEqual([409, 'CONFLICT']);
    const { body: participants } = await world.api('GET', `/contracts/${contractId}/participants`);
    expect(participants.participants).toEqual([]);
  });

  it('is accepted after the contract ended', async () => {
    const world = await openWorking();
    world.sandbox.endContract(world.contractId);
    const { status } = await report(world, [{ workDate: yesterday, totalSeconds: 60 }]);
    expect(status).toBe(200);
  });
});

describe('a budget', () => {
  it.each([
    { paymentType: 'PAY_PER_HOUR', seconds: 7.99 * 3600, state: 'OK', volume: 7.99 },
    { paymentType: 'PAY_PER_HOUR', seconds: 8 * 3600, state: 'LOW', volume: 8 },
    { paymentType: 'PAY_PER_HOUR', seconds: 10 * 3600, state: 'DEPLETED', volume: 10 },
    { paymentType: 'PAY_PER_HOUR', seconds: 12 * 3600, state: 'DEPLETED', volume: 12 },
    { paymentType: 'PAY_PER_LABEL', labels: 7, state: 'OK', volume: 7 },
    { paymentType: 'PAY_PER_LABEL', labels: 8, state: 'LOW', volume: 8 },
    { paymentType: 'PAY_PER_LABEL', labels: 10, state: 'DEPLETED', volume: 10 },
    { paymentType: 'FIXED_PRICE', seconds: 80_000, state: 'OK', volume: 0 },
    { paymentType: null, seconds: 80_000, state: 'OK', volume: 0 },
  ] as const)('of 10 is $state: %o', async (row) => {
    const world = await openWorking({ paymentType: row.paymentType });
    const { contractId } = world;
    const { milestone } = world.sandbox.fundMilestone(contractId, { volume: 10, amountUsd: 250 });
    const totalSeconds = 'seconds' in row ? Math.round(row.seconds) : 0;
    const labelsCompleted = 'labels' in row ? row.labels : 0;
    await report(world, [{ workDate: today, totalSeconds, labelsCompleted, tasksCompleted: 5 }]);

    const { body } = await world.api('GET', `/contracts/${contractId}/budget`);
    expect(body).toEqual({
      contractId,
      paymentType: row.paymentType,
      state: row.state,
      fundedVolume: 10,
      fundedAmountUsd: 250,
      consumed: {
        seconds: totalSeconds,
        hours: totalSeconds / 3600,
        labels: labelsCompleted,
        tasks: 5,
      },
      consumedVolume: row.volume,
      remainingVolume: Math.max(0, 10 - row.volume),
      consumedFraction: row.volume / 10,
      activeMilestone: milestone,
      lastUsageAt: clock.now().toISOString(),
    });
  });

  it('is OK while nothing is funded, and has no milestone', async () => {
    const world = await openWorking();
    const { body } = await report(world, [{ workDate: today, totalSeconds: 80_000 }]);
    expect(body.budget).toMatchObject({ state: 'OK', fundedVolume: 0, activeMilestone: null });
  });

  it('adds up its milestones, the newest of which is active', async () => {
    const { sandbox, api, contractId } = await openWorking();
    sandbox.fundMilestone(contractId, { volume: 3, amountUsd: 30 });
    const { milestone: second } = sandbox.fundMilestone(contractId, { volume: 4, amountUsd: 40, name: 'Second' });
    const { body } = await api('GET', `/contracts/${contractId}/budget`);
    expect(body).toMatchObject({ fundedVolume: 7, fundedAmountUsd: 70, activeMilestone: second });
    expect(second).toMatchObject({ name: 'Second', status: 'ACTIVE_FUNDED', volume: 4 });
  });
});

interface Terms {
  trainers?: number;
  paymentType?: 'PAY_PER_HOUR' | 'PAY_PER_LABEL' | 'FIXED_PRICE' | null;
}

async function openWorking({ trainers = 1, paymentType = 'PAY_PER_HOUR' }: Terms = {}) {
  const world = await openWorld({ clock });
  const { id: jobId } = world.sandbox.createJob({ installId: world.installId, paymentType });
  await world.link('work', jobId);
  const hired = world.sandbox.hire({
    jobId,
    trainers: Array.from({ length: trainers }, () => ({})),
  });
  const trainerId = hired.trainers[0]?.opentrainUserId ?? '';
  return { ...world, contractId: hired.contractId, trainerId };
}

function report({ api, contractId }: Working, entries: unknown[]) {
  return api('POST', `/contracts/${contractId}/usage`, { body: { entries } });
}
