import { expect, it } from 'vitest';
import { listDispatches } from '../../../src/notify/notice-store.ts';
import { type Hook, openHook } from '../../support/hook.ts';
import { openJourney } from '../../support/journey.ts';
import { openMailBox } from '../../support/mail-box.ts';
import { addNotices, newNotice, secret } from '../../support/notices.ts';
import { storageOf } from '../../support/storage-of.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const minuteMs = 60_000;

describeAnyDialect('people outside get notices', (dialect) => {
  it('in every channel, while one of them hangs', async () => {
    const [billing, chat, hanging] = [await openHook(), await openHook(), await openHook()];
    hanging.answer = () => undefined;
    const box = await openMailBox();
    const channels = {
      hanging: { type: 'webhook', url: hanging.url, secret },
      billing: { type: 'webhook', url: billing.url, secret },
      chat: { type: 'slack', url: chat.url },
      finance: { type: 'mail', to: ['finance@example.com'] },
    };
    const mail = { smtp: box.url, from: 'studio@example.com' };
    const journey = await openJourney(dialect, { mail, notifications: { channels } });
    const { storage, clock, consoleUrl } = journey;
    const notices = ['c1', 'c2'].map((contractId) => newNotice({ contractId }));
    await addNotices({ database: storage.database, clock }, channels, notices);

    await until(
      'it hangs',
      () => hanging.posts.length,
      (count) => count > 0,
    );
    await until(
      'the notice is there',
      () => billing.posts.length,
      (count) => count === 2,
    );
    expect([chat.posts.length, box.mails.length]).toEqual([0, 0]);
    clock.advance(minuteMs);
    await until(
      'the notice is there',
      () => contractsIn(chat),
      (seen) => seen.length > 0,
    );
    await until(
      'the notice is there',
      () => box.mails.length,
      (count) => count > 0,
    );
    expect(contractsIn(chat)).toEqual(['c1', 'c2']);
    expect(box.mails).toHaveLength(1);

    const isSettled = () => listDispatches(storageOf(storage.database), { state: 'sent', limit: 10 });
    await until('all but one are settled', isSettled, (rows) => rows.length === 6);
    const metrics = await (await fetch(`${consoleUrl}/metrics`)).text();
    expect(metrics).toContain('gangway_notifications_total{channel="billing",outcome="sent"} 2');
    expect(metrics).toContain('gangway_notifications_total{channel="chat",outcome="sent"} 1');
  });
});

function contractsIn({ posts }: Hook): string[] {
  const texts = posts.map(({ body }) => body).join();
  return [...texts.matchAll(/contract (\S+) of/g)].map(([, id = '']) => id);
}
