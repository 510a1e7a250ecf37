import { beforeEach, expect, it } from 'vitest';
import { createAlerts } from '../../src/lib/alerts.ts';
import { type AlertNotices, createAlertNotices } from '../../src/notify/alert-notices.ts';
import type { ChannelShape } from '../../src/notify/channel.ts';
import { composeDigest } from '../../src/notify/compose-digest.ts';
import { createNoticeStore } from '../../src/notify/notice-store.ts';
import { createWebhookChannel } from '../../src/notify/webhook-channel.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { answering, openHook } from '../support/hook.ts';
import { createTelling, newNotice, secret, type Telling } from '../support/notices.ts';

const hourMs = 3_600_000;

describeEachDatabase('alerts', (openFresh) => {
  let telling: Telling;

  beforeEach(async () => {
    telling = createTelling(await openFresh());
  });

  function open(...channels: Pick<ChannelShape, 'name' | 'gatherMs' | 'tells'>[]) {
    const { database, clock, logger, metrics } = telling;
    const notices = createNoticeStore(database, channels, clock);
    const alerting: AlertNotices = createAlertNotices({ database, notices, logger, clock });
    return { ...alerting, alerts: createAlerts(logger, metrics, alerting.announce) };
  }

  const ops = { name: 'ops', gatherMs: 0 };

  it('go to every channel that takes alerts', async () => {
    const finance = { name: 'finance', gatherMs: 0, tells: ['budgets'] as const };
    const { alerts, settled } = open(ops, finance, { ...ops, name: 'chat', tells: ['alerts'] });
    alerts.raise('removals_held', { install: 'acme', plan: 7, held: 3 }, 'Removals are held');
    await settled();
    const rows = await telling.rows();
    expect(rows.map(({ channel }) => channel)).toEqual(['ops', 'chat']);
    expect(await telling.dispatches.list({ limit: 5 })).toMatchObject([
      { channel: 'chat', kind: 'alert.removals_held', message: 'Removals are held' },
      { channel: 'ops', about: { install: 'acme', plan: '7' } },
    ]);
  });

  it('are noticed once a day as long as they are the same, and a new one at once', async () => {
    const { alerts, settled } = open(ops);
    const outside = (link: string) => alerts.raise('link_outside', { install: 'acme', link }, 'A link is outside');
    for (let hour = 0; hour < 24; hour += 1) {
      outside('cml1');
      telling.clock.advance(hourMs);
    }
    await settled();
    expect(await telling.rows()).toHaveLength(1);
    outside('cml2');
    outside('cml1');
    await settled();
    expect(await telling.rows()).toHaveLength(3);
  });

  it('are noticed again after an hour where the trouble may have been over meanwhile', async () => {
    const { alerts, settled } = open(ops);
    for (let half = 0; half < 3; half += 1) {
      alerts.raise('tool_left_alone', { tool: 'studio' }, 'A tool is left alone for a while');
      await settled();
      telling.clock.advance(hourMs / 2);
    }
    expect(await telling.rows()).toHaveLength(2);
  });

  it('that have notices of their own, or are about a channel, are not noticed here', async () => {
    const { alerts, settled } = open(ops);
    alerts.raise('budget_low', { install: 'acme' }, 'low');
    alerts.raise('notification_failed', { channel: 'ops' }, 'failed');
    await settled();
    expect(await telling.rows()).toEqual([]);
  });

  it('that cannot be kept break nothing, and are in the log', async () => {
    const { alerts, settled } = open(ops);
    await telling.database.kysely.schema.alterTable('notice').renameTo('elsewhere').execute();
    alerts.raise('link_outside', { install: 'acme' }, 'A link is outside');
    await settled();
    expect(telling.log.lines()).toMatchObject([
      { alert: 'link_outside' },
      { notStored: 'link_outside', msg: 'A notice of an alert could not be stored' },
    ]);
  });

  it('name ids alone: no address, no number, no other field', async () => {
    const { alerts, settled } = open(ops);
    const fields = { install: 'acme', trainer: 'cmu1@mail.example', held: 3, message: 'secret' };
    alerts.raise('address_changed', fields, 'Their address has changed');
    await settled();
    const [notice] = await telling.dispatches.list({ limit: 1 });
    expect(notice).toMatchObject({ about: { install: 'acme', trainer: 'c…@mail.example' } });
    expect(Object.keys((notice as { about: object }).about)).toEqual(['install', 'trainer']);
  });

  it('go out signed, as what they are', async () => {
    const hook = await openHook('/ops');
    hook.answer = answering(200);
    const channel = createWebhookChannel('ops', { type: 'webhook', url: hook.url, secret }, telling.clock);
    const { alerts, settled } = open(channel);
    alerts.raise('removals_held', { install: 'acme', plan: 7 }, 'Removals are held');
    await settled();
    await telling.sendAll(channel);
    expect(hook.posts.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      {
        type: 'alert.removals_held',
        timestamp: expect.any(String),
        data: {
          message: 'Removals are held',
          about: { install: 'acme', plan: '7' },
          runbook: 'docs/alerts.md#removals_held',
        },
      },
    ]);
  });

  it('come first in a digest, and no stranger writes a link into it', () => {
    const alert = {
      ...({ kind: 'alert.link_outside', occurredAt: '2026-03-15T11:59:00.000Z' } as const),
      message: 'A link is outside',
      about: { install: 'acme', project: 'https://evil.example/x' },
    };
    expect(composeDigest([newNotice({ contractId: 'c2' }), alert], 1000)).toEqual({
      title: 'Gangway: 1 alert; budgets of contracts: 1 LOW',
      lines: [
        expect.stringMatching(
          /^ALERT · A link is outside · install acme · project .*…?.* · 2026-03-15 11:59 UTC · docs\/alerts\.md#link_outside$/,
        ),
        expect.stringMatching(/^LOW · contract c2/),
      ],
    });
    expect(composeDigest([alert, alert], 1000).lines.join()).not.toContain('https://');
    expect(composeDigest([alert, alert], 1000).title).toBe('Gangway: 2 alerts');
  });
});
