import { expect, it } from 'vitest';
import { fullEvent } from '../../support/event-bodies.ts';
import { createSharedLinkTool } from '../../support/inviting-tool.ts';
import { openJourney } from '../../support/journey.ts';
import { openMailBox } from '../../support/mail-box.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

describeAnyDialect('a trainer who is hired and has no login', (dialect) => {
  it('is mailed how they get in', { timeout: 20_000 }, async () => {
    const box = await openMailBox();
    const tool = createSharedLinkTool();
    const mail = { smtp: box.url, from: 'Studio <studio@example.com>' };
    const journey = await openJourney(dialect, { adapter: tool.adapter, mail });
    const createdAt = new Date().toISOString();
    await journey.deliver(fullEvent({ type: 'contract.started', createdAt }));
    const sent = async () => (await fetch(`${journey.consoleUrl}/metrics`)).text();
    const counted = 'gangway_invitations_total{outcome="sent"} 1';
    await until('it is mailed', sent, (metrics) => metrics.includes(counted));
    expect(box.mails).toMatchObject([{ to: ['cmu1@opentrain.work'], text: expect.stringContaining(tool.link()) }]);
  });
});
