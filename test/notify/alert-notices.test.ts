import { beforeEach, expect, it } from 'vitest';
import type { AlertNotice } from '../../src/domain/notice.ts';
import { createAlerts } from '../../src/lib/alerts.ts';
import { createAlertNotices } from '../../src/notify/alert-notices.ts';
import { createWebhookChannel } from '../../src/notify/channels.ts';
import { composeDigest } from '../../src/notify/compose-digest.ts';
import { listDispatches } from '../../src/notify/notice-store.ts';
import { createAlerting } from '../support/alerting.ts';
import { answering, openHook } from '../support/hook.ts';
import { atOnce, createTelling, newNotice, notifying, secret, type Telling } from '../support/notices.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

describeAnyDatabase('alerts', (openFresh) => {
  let telling: Telling;

  beforeEach(async () => {
    telling = createTelling(await openFresh());
  });

  function open(channels: Record<string, object> = { ops: atOnce }) {
    const { logger, metrics } = telling;
    const ctx = { ...telling, config: notifying(channels) };
    const alerting = createAlertNotices(() => ctx);
    return { ...alerting, alerts: createAlerts(logger, metrics, alerting) };
  }

  it('go to every channel that takes alerts', async () => {
    const [finance, chat] = ['budgets', 'alerts'].map((topic) => ({ ...atOnce, tells: [topic] }));
    const { alerts, settled } = open({ ops: atOnce, finance: { ...finance }, chat: { ...chat } });
    alerts.raise('job_unread', { install: 'acme', job: 7, held: 3 }, 'A job is unread');
    await settled();
    const rows = await telling.rows();
    expect(rows.map(({ channel }) => channel)).toEqual(['ops', 'chat']);
    expect(await listDispatches(telling, { limit: 5 })).toMatchObject([
      {
        channel: 'chat',
        kind: 'alert.job_unread',
        message: expect.stringMatching(/^Gangway cannot read the contracts of job 7 of acme, .* A job is unread$/),
        state: 'waiting',
      },
      { channel: 'ops', about: { install: 'acme', job: '7' }, isOver: false, isRepeat: false },
    ]);
  });

  it('are announced once while they are open, whatever their other fields; a new one at once', async () => {
    const { alerts, settled } = open();
    const unread = (job: string, reason = 'refused') =>
      alerts.raise('job_unread', { install: 'acme', job, reason }, 'A job is unread');
    for (let day = 0; day < 5; day += 1) {
      unread('job1', day === 3 ? 'unknown' : undefined);
      await settled();
      telling.clock.advance(dayMs);
    }
    expect(await telling.rows()).toHaveLength(1);
    unread('job2');
    unread('job1');
    await settled();
    expect(await telling.rows()).toHaveLength(2);
  });

  it('are announced once if two instances find them at the same time', async () => {
    const instances = [open(), open(), open()];
    for (const { alerts } of instances) alerts.raise('job_unread', { install: 'acme', job: 'job1' });
    await Promise.all(instances.map(({ settled }) => settled()));
    for (const { alerts } of instances) alerts.observe('managed_address_leaked', { tool: 'studio', group: 'g' }, []);
    await Promise.all(instances.map(({ settled }) => settled()));
    expect(await telling.rows()).toHaveLength(1);
  });

  it('that are observed end once, when an instance no longer finds them', async () => {
    const alerting = createAlerting();
    const listener = alerting.hears(telling);
    const group = { tool: 'studio', group: 'signs' };
    const found = (membership: number) => listener.raise('address_changed', { ...group, membership }, 'changed');
    found(1);
    found(2);
    listener.raise('address_changed', { ...group, group: 'cars', membership: 3 }, 'changed');
    for (let look = 0; look < 3; look += 1) {
      listener.observe('address_changed', group, [{ membership: 2 }]);
      await alerting.announced('address_changed');
      const other = open();
      other.alerts.observe('address_changed', group, [{ membership: '2' }]);
      await other.settled();
    }
    expect(await alerting.announced('address_changed')).toEqual(['raised', 'raised', 'raised', 'over']);
    found(1);
    expect((await alerting.announced('address_changed')).slice(4)).toEqual(['raised']);
  });

  it('that come back are announced at once, except kinds that come and go: once an hour', async () => {
    const alerting = createAlerting();
    const listener = alerting.hears(telling);
    const [server, machine] = [{ tool: 'studio' }, { machine: 'host-1' }];
    for (let turn = 0; turn < 60; turn += 1) {
      listener.raise('other_server', server, 'another server');
      listener.observe('other_server', server, []);
      await alerting.announced('other_server');
      telling.clock.advance(minuteMs);
    }
    expect(await alerting.announced('other_server')).toEqual(['raised', 'over']);
    listener.raise('clock_drift', machine, 'drift');
    listener.observe('clock_drift', machine, []);
    await alerting.announced('clock_drift');
    telling.clock.advance(minuteMs);
    listener.raise('clock_drift', machine, 'drift');
    // What was not announced ends in silence, and what still stands after the quiet time is announced then.
    expect(await alerting.announced('clock_drift')).toEqual(['raised', 'over']);
    for (let minute = 0; minute < 59; minute += 1) {
      listener.observe('clock_drift', machine, [{}]);
      await alerting.ask();
    }
    expect(await alerting.announced('clock_drift')).toEqual(['raised', 'over', 'raised']);
  });

  it('are repeated as reminders after the configured time while they are open', async () => {
    const alerting = createAlerting({ repeat: '2d' });
    const listener = alerting.hears(telling);
    const found = () => listener.raise('managed_address_leaked', { tool: 'studio', group: 'signs' }, 'Seen twice');
    found();
    for (let half = 0; half < 9; half += 1) {
      await alerting.ask();
      telling.clock.advance(dayMs / 2);
    }
    expect(await alerting.announced('managed_address_leaked')).toEqual(['raised', 'still', 'still']);
    const [reminder] = await listDispatches(telling, { limit: 1 });
    expect(composeDigest([reminder as AlertNotice], 1000).lines).toEqual([
      expect.stringMatching(
        /^still ALERT · An account .* Seen twice .* · since 2026-03-15 12:00 UTC · do: Remove the member .*leaked$/,
      ),
    ]);
  });

  it('do not end if they are found again during the check', async () => {
    let asked = 0;
    const alerting = createAlerting({
      async deferralOf() {
        asked += 1;
        if (asked === 1) {
          usedUp();
          await alerting.announced('storage_used_up');
        }
        return undefined;
      },
    });
    const listener = alerting.hears(telling);
    const usedUp = () => listener.raise('storage_used_up', { install: 'acme' }, 'used up');
    usedUp();
    await alerting.ask();
    expect([asked, await alerting.announced('storage_used_up')]).toEqual([1, ['raised']]);
    await alerting.ask();
    expect([asked, await alerting.announced('storage_used_up')]).toEqual([2, ['raised', 'over']]);
  });

  it('about a channel that fails go to the other channels, once a day', async () => {
    const { alerts, settled } = open({ ops: atOnce, chat: atOnce });
    for (let hour = 0; hour < 25; hour += 1) {
      alerts.raise('notification_failed', { channel: 'ops' }, 'Gangway gave up on a notice');
      await settled();
      telling.clock.advance(hourMs);
    }
    const rows = await telling.rows();
    expect(rows.map(({ channel }) => channel)).toEqual(['chat', 'chat']);
    expect(await listDispatches(telling, { limit: 1 })).toMatchObject([{ endsAtOnce: true, isOver: false }]);
  });

  it('that cannot be stored break nothing, and are logged', async () => {
    const { alerts, settled } = open();
    await telling.database.kysely.schema.alterTable('notice').renameTo('elsewhere').execute();
    alerts.raise('job_unread', { install: 'acme', job: 7 });
    await settled();
    expect(telling.log.lines()).toMatchObject([
      { alert: 'job_unread' },
      { notStored: 'job_unread', msg: 'A notice of an alert could not be stored' },
    ]);
  });

  it('contain ids only: no address, no number, no other field', async () => {
    const { alerts, settled } = open();
    const fields = { install: 'acme', trainer: 'cmu1@mail.example', held: 3, message: 'secret' };
    alerts.raise('address_changed', fields, 'Their address has changed');
    await settled();
    const [notice] = await listDispatches(telling, { limit: 1 });
    expect(notice).toMatchObject({ about: { install: 'acme', trainer: 'c…@mail.example' } });
    expect(Object.keys((notice as AlertNotice).about)).toEqual(['install', 'trainer']);
  });

  it('are sent signed, and so is their end', async () => {
    const hook = await openHook('/ops');
    hook.answer = answering(200);
    const channel = createWebhookChannel('ops', { url: hook.url, secret }, telling.clock);
    const { alerts, settled } = open();
    const group = { tool: 'studio', group: 'signs' };
    alerts.raise('managed_address_leaked', { ...group, leaks: 3 });
    await settled();
    await telling.sendAll(channel);
    telling.clock.advance(minuteMs);
    alerts.observe('managed_address_leaked', group, []);
    await settled();
    await telling.sendAll(channel);
    const data = {
      isRepeat: false,
      endsAtOnce: false,
      since: '2026-03-15T12:00:00.000Z',
      message: 'An account with a managed email is in a group of “studio” without an active contract.',
      about: group,
      advice: 'Remove the member in the tool, and find out who added them',
      runbook: 'docs/operating.md#managed_address_leaked',
    };
    const type = 'alert.managed_address_leaked';
    expect(hook.posts.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { type, timestamp: '2026-03-15T12:00:00.000Z', data: { state: 'raised', ...data } },
      { type, timestamp: '2026-03-15T12:01:00.000Z', data: { state: 'over', ...data } },
    ]);
  });

  it('come first in a digest, without links of strangers', () => {
    const alert: AlertNotice = {
      kind: 'alert.link_outside',
      occurredAt: '2026-03-15T11:59:00.000Z',
      since: '2026-03-14T09:30:00.000Z',
      isOver: false,
      isRepeat: false,
      endsAtOnce: false,
      message: 'A link is outside',
      about: { install: 'acme', project: 'https://evil.example/x' },
    };
    const over = { ...alert, isOver: true };
    const digest = composeDigest([newNotice({ contractId: 'c2' }), over, alert], 1000);
    expect(digest).toEqual({
      title: 'Gangway: 1 alert; 1 alert resolved; contract budgets: 1 LOW',
      lines: [
        expect.stringMatching(
          /^ALERT · A link is outside · install acme · project .*…?.* · 2026-03-15 11:59 UTC · do: Run gangway links list.* · docs\/operating\.md#link_outside$/,
        ),
        expect.stringMatching(
          /^RESOLVED · A link is outside · .* · 2026-03-15 11:59 UTC · since 2026-03-14 09:30 UTC · docs\/operating\.md#link_outside$/,
        ),
        expect.stringMatching(/^LOW · contract c2/),
      ],
    });
    expect(composeDigest([alert, over], 1000).lines.join()).not.toContain('https://');
    expect(composeDigest([alert, alert], 1000).title).toBe('Gangway: 2 alerts');
  });
});
