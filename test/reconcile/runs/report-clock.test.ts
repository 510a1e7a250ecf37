import { expect, it } from 'vitest';
import type { Hold } from '../../../src/db/lock.ts';
import { checkSubscription } from '../../../src/subscription/subscription-job.ts';
import { createAlerting } from '../../support/alerting.ts';
import { openSandbox } from '../../support/either-market.ts';
import { createIncident, minutes } from '../../support/incident.ts';
import { openSubscriptionWorld } from '../../support/subscription-world.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { troublesIn } from '../../support/troubles.ts';

const links = { cml1: 'signs' };

describeAnyDatabase('a clock that is off', (openFresh) => {
  const open = async () => createIncident(await openFresh());

  it('is reported once, then once an hour while it is off', async () => {
    const incident = await open();
    await incident.read({ links, driftMs: 59_999 });
    expect(await incident.alerts('clock_drift')).toBe(0);
    await incident.read({ links, driftMs: -60_000 });
    await incident.read({ links, driftMs: -61_000 });
    await incident.read({ links, driftMs: 90_000 }, 'globex');
    expect(await incident.alerts('clock_drift')).toBe(1);
    incident.engine.clock.advance(60 * minutes);
    await incident.read({ links, driftMs: 90_000 });
    expect(await incident.alerts('clock_drift')).toBe(2);
  });

  it('is reported even if the reading is refused', async () => {
    const incident = await open();
    await incident.read({ links, driftMs: 400_000, isRefused: true });
    expect(await incident.alerts('clock_drift')).toBe(1);
    expect(incident.engine.log.lines()).toContainEqual(
      expect.objectContaining({ alert: 'clock_drift', driftSeconds: 400 }),
    );
  });

  it('is reported by the first check of a webhook endpoint, which a start begins with', async () => {
    const world = await openSubscriptionWorld(openSandbox, await openFresh());
    const sources = new Map([['acme', { ...world.api, clockDriftMs: () => 90_000 }]]);
    const isAlone = { confirm: async () => undefined } as unknown as Hold;
    await checkSubscription({ ...world.ctx, sources }, 'acme', isAlone, AbortSignal.timeout(60_000));
    expect(world.alerts()).toContainEqual(expect.stringMatching(/^clock_drift: .*It is 90 s ahead/));
  });

  it('needs an operator until it is right again', async () => {
    const alerting = createAlerting();
    const incident = createIncident(await openFresh(), { hears: alerting.hears });
    const troubles = async (driftMs?: number) => {
      await incident.read({ links, ...(driftMs !== undefined && { driftMs }) });
      await alerting.standing('clock_drift');
      return (await troublesIn(incident.engine)).map(({ kind, detail }) => `${kind}: ${detail}`);
    };
    const drift = [expect.stringMatching(/^clock_drift: It is 75 s behind\. machine ./)];
    expect(await troubles(-75_400)).toEqual(drift);
    expect(await troubles()).toEqual(drift);
    expect(await troubles(1000)).toEqual([]);
  });
});
