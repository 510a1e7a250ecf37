import { expect, it } from 'vitest';
import { liveThrough, openJourney } from '../../support/journey.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const quarterMs = 15 * 60_000;

describeAnyDialect('what was never delivered', (dialect) => {
  it('is found when the schedule is next due, and recorded', async () => {
    const journey = await openJourney(dialect, { schedule: '*/15 * * * *' });
    const { sandbox, customer, clock, storage } = journey;
    const { kysely } = storage.database;
    await customer.link('street-signs');
    await journey.quiet();
    sandbox.setFaults(undefined, { lose: 1 });
    const roster = () => Object.values(journey.roster()).flat();
    const runs = () => kysely.selectFrom('run').selectAll().orderBy('id').execute();
    // Where the quarter of an hour begins during the test, a run more finds nothing to do.
    const countApplied = async () => {
      const scheduled = (await runs()).filter(({ trigger }) => trigger === 'schedule');
      return scheduled.filter(({ outcome }) => outcome === 'applied').length;
    };

    const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
    await journey.quiet();
    expect(roster()).toEqual([]);
    await liveThrough(storage, clock, quarterMs);
    await until('they are added', countApplied, (applied) => applied === 1);
    expect(roster()).toEqual([trainers[0]?.opentrainUserId]);

    sandbox.endContract(contractId);
    await liveThrough(storage, clock, quarterMs);
    await until('they are removed', countApplied, (applied) => applied === 2);
    expect(roster()).toEqual([]);
    expect((await runs()).at(-1)).toMatchObject({ trigger: 'schedule', added: 0, removed: 1 });
  });

  it('as the start of a renewal keeps a trainer in whose contract before it ends', async () => {
    const journey = await openJourney(dialect);
    const { sandbox, customer } = journey;
    await customer.link('street-signs');
    const trainers = [{ opentrainUserId: 'renewed', workEmail: 'renewed@opentrain.work' }];
    const first = sandbox.hire({ jobId: customer.jobId, trainers });
    await journey.quiet();
    sandbox.setFaults(undefined, { lose: 1 });
    const second = sandbox.hire({ jobId: customer.jobId, trainers });
    await sandbox.idle();
    sandbox.setFaults(undefined, {});
    await journey.pass(60_000);

    sandbox.endContract(first.contractId);
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': ['renewed'] });
    const removals = (await journey.receipts()).filter((one) => one.startsWith('remove'));
    expect(removals).toEqual([]);
    await journey.pass(60_000);
    sandbox.endContract(second.contractId);
    await journey.quiet();
    expect(journey.roster()).toEqual({ 'street-signs': [] });
  });
});
