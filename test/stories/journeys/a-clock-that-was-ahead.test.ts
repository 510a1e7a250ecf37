import { expect, it } from 'vitest';
import { type Journey, openJourney } from '../../support/journey.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const right = { machineMs: 0, databaseMs: 0 };

describeAnyDialect('a clock that was ahead', (dialect) => {
  const open = async () => {
    const journey = await openJourney(dialect, { schedule: '*/15 * * * *' });
    await journey.customer.link('street-signs');
    await journey.quiet();
    const roster = () => Object.values(journey.roster()).flat();
    const hire = () => journey.sandbox.hire({ jobId: journey.customer.jobId });
    return { ...journey, roster, hire };
  };

  /** Two days ahead, until it has read all there is by that time; then right again. */
  async function beAhead(journey: Omit<Journey, 'roster'>): Promise<void> {
    const { clock, storage } = journey;
    clock.advance(minuteMs);
    journey.setAhead({ machineMs: 2 * dayMs, databaseMs: 2 * dayMs });
    const present = clock.now().toISOString();
    const readAhead = () =>
      storage.database.kysely
        .selectFrom('run')
        .select('id')
        .where('beganAt', '>', present)
        .where('endedAt', 'is not', null)
        .execute();
    await until('all is read by that time', readAhead, (runs) => runs.length > 0);
    clock.advance(minuteMs);
    journey.setAhead(right);
  }

  const alertsOf = ({ log }: Pick<Journey, 'log'>) =>
    log.lines().filter((line) => 'alert' in line && line['alert'] === 'clock_set_back');

  it('leaves no reading that outweighs later deliveries', async () => {
    const journey = await open();
    const { contractId, trainers } = journey.hire();
    await journey.quiet();
    await beAhead(journey);
    await until(
      'it was noticed',
      () => alertsOf(journey),
      (lines) => lines.length > 0,
    );
    await journey.quiet();
    expect(journey.roster()).toEqual([trainers[0]?.opentrainUserId]);

    journey.clock.advance(minuteMs);
    journey.sandbox.endContract(contractId);
    await journey.quiet();
    expect(journey.roster()).toEqual([]);
    const [only, ...others] = alertsOf(journey);
    expect([Number(only?.['aheadSeconds']) > 86_400, others]).toEqual([true, []]);
  });

  it('leaves nothing waiting for its future time', async () => {
    const journey = await open();
    await beAhead(journey);
    await until(
      'it was noticed',
      () => alertsOf(journey),
      (lines) => lines.length > 0,
    );
    await journey.quiet();
    journey.sandbox.setFaults(undefined, { lose: 1 });
    const { contractId, trainers } = journey.hire();
    const roster = () => Promise.resolve(journey.roster());
    journey.clock.advance(15 * minuteMs);
    await until('they are read and added', roster, (ids) => ids.length === 1);
    expect(journey.roster()).toEqual([trainers[0]?.opentrainUserId]);
    journey.sandbox.endContract(contractId);
    journey.clock.advance(15 * minuteMs);
    await until('they are read and removed', roster, (ids) => ids.length === 0);
  });

  it('of the machine alone delays nothing: times come from the database', async () => {
    const journey = await open();
    journey.setAhead({ machineMs: minuteMs, databaseMs: 0 });
    const { contractId, trainers } = journey.hire();
    await journey.quiet();
    expect(journey.roster()).toEqual([trainers[0]?.opentrainUserId]);
    journey.sandbox.endContract(contractId);
    await journey.quiet();
    expect(journey.roster()).toEqual([]);
  });
});
