import { expect, it } from 'vitest';
import { openHook } from '../../support/hook.ts';
import { openJourney } from '../../support/journey.ts';
import { secret } from '../../support/notices.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const minuteMs = 60_000;

describeAnyDialect('a running bridge', (dialect) => {
  it('sends an alert once, and its end once, without being asked', async () => {
    const hook = await openHook();
    const channels = { ops: { type: 'webhook', url: hook.url, secret } };
    const journey = await openJourney(dialect, { projects: ['signs'], notifications: { channels } });
    const states = () =>
      hook.posts.map(({ body }) => {
        const { type, data } = JSON.parse(body) as { type: string; data: { state: string } };
        return `${type} ${data.state}`;
      });
    const linkId = await journey.customer.link('cars');
    await until('it is sent', states, ({ length }) => length === 1);
    await journey.pass(2 * minuteMs);
    await journey.customer.api('DELETE', `/project-links/${linkId}`);
    const pass = async () => {
      // Its heart beats in real time, and an instance whose last heartbeat is old does not tell what is over.
      const beatAt = new Date(journey.clock.now().getTime() + 2 * minuteMs).toISOString();
      await journey.storage.database.kysely.updateTable('instance').set({ beatAt }).execute();
      await journey.pass(2 * minuteMs);
      return states();
    };
    await until('its end is sent', pass, ({ length }) => length >= 2);
    await journey.pass(2 * minuteMs);
    expect(states()).toEqual(['alert.link_outside raised', 'alert.link_outside over']);
    const metrics = await (await fetch(`${journey.consoleUrl}/metrics`)).text();
    expect(metrics).toContain('gangway_alerts_active{kind="link_outside"} 0');
  });
});
