import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { answering, type Hook, openHook } from '../support/hook.ts';
import { openMailBox } from '../support/mail-box.ts';
import { addNotices, atOnce, newNotice, secret } from '../support/notices.ts';
import { useBridge } from './bridge.ts';

describe('gangway notifications', () => {
  let hook: Hook;
  const workspace = useBridge(async () => {
    hook = await openHook('/hook/very-secret');
    const { url } = hook;
    return { notifications: { channels: { billing: { type: 'webhook', url, secret }, chat: { type: 'slack', url } } } };
  });
  const run = (...argv: string[]) => workspace.run('notifications', ...argv);

  describe('list', () => {
    beforeEach(async () => {
      await workspace.withStorage(async ({ database }) => {
        const depleted = newNotice({ kind: 'budget.depleted', contractId: 'c2', isRepeat: true });
        await addNotices({ database, clock: systemClock }, { billing: atOnce }, [newNotice(), depleted]);
        await database.kysely
          .updateTable('dispatch')
          .set({ state: 'failed', nextAttemptAt: null, failure: 'answered 410', attempts: 1 })
          .where('id', '=', 1)
          .execute();
      });
    });

    it('shows each notice by channel, newest first', async () => {
      const { status, stdout } = await run('list');
      expect(status).toBe(0);
      const [titles, ...lines] = stdout.trimEnd().split('\n');
      expect(titles).toMatch(/^kind +says +message +about +channel +state +added +tries +next +problem$/);
      expect(lines).toEqual([
        expect.stringMatching(/^budget\.depleted +reminder +install acme, contract c2 +billing +waiting .* 0 +\S.*$/),
        expect.stringMatching(/^budget\.low +raised +install acme, contract c1 +billing +failed .* 1 +answered 410$/),
      ]);
    });

    it('shows notices in one state, with all fields as JSON', async () => {
      const { stdout } = await run('list', '--state', 'waiting', '--json');
      expect(JSON.parse(stdout)).toEqual({
        next: null,
        items: [
          {
            ...newNotice({ kind: 'budget.depleted', contractId: 'c2', isRepeat: true }),
            id: 2,
            channel: 'billing',
            state: 'waiting',
            attempts: 0,
            failure: null,
            messageId: null,
            settledAt: null,
            createdAt: expect.any(String),
            nextAttemptAt: expect.any(String),
          },
        ],
      });
      expect((await run('list', '--state', 'sent')).stdout).toMatch(/^No notifications match\./);
      expect((await run('list', '--state', 'lost')).status).toBe(64);
    });
  });

  describe('test', () => {
    it('sends a test to every channel, which is only kept in the audit log', async () => {
      const { status, stdout } = await run('test', '--json');
      expect(status).toBe(0);
      expect(JSON.parse(stdout)).toEqual({
        trials: [
          { channel: 'billing', outcome: 'sent', failure: null },
          { channel: 'chat', outcome: 'sent', failure: null },
        ],
      });
      const signed = hook.posts.find(({ headers }) => 'webhook-signature' in headers);
      const headers = signed?.headers as Record<string, string>;
      expect(new Webhook(secret).verify(signed?.body ?? '', headers)).toMatchObject({
        type: 'test',
      });
      expect(hook.posts.map(({ body }) => body)).toContain('{"text":"Gangway: a test notice"}');
      expect((await run('list')).stdout).toMatch(/^No notifications match\./);
    });

    it('says what failed, and ends with 1', async () => {
      hook.answer = answering(403, {}, 'no');
      const { status, stdout, stderr } = await run('test', '--channel', 'chat');
      expect([status, stderr]).toEqual([1, '']);
      expect(stdout).toMatch(/^channel +outcome +problem\nchat +refused +answered 403\n$/);
      expect(hook.posts).toHaveLength(1);
    });

    it('mails too', async () => {
      const box = await openMailBox();
      workspace.changeConfig({
        mail: { smtp: box.url, from: 'studio@example.com' },
        notifications: { channels: { finance: { type: 'mail', to: ['finance@example.com'] } } },
      });
      const { status, stdout } = await run('test');
      expect(status).toBe(0);
      expect(stdout).toMatch(/^finance +sent$/m);
      expect(box.mails).toMatchObject([{ to: ['finance@example.com'] }]);
    });

    it('names the channels if one is unknown', async () => {
      expect(await run('test', '--channel', 'chart')).toMatchObject({
        status: 1,
        stdout: '',
        stderr: 'gangway: There is no channel "chart"; there are: billing, chat\n',
      });
      workspace.changeConfig({ notifications: {} });
      expect(await run('test')).toMatchObject({
        status: 1,
        stderr: 'gangway: No channel is configured: add one to notifications.channels\n',
      });
    });

    it('repeats no URL, secret or address', async () => {
      hook.close();
      const ended = await run('test');
      expect(ended.status).toBe(1);
      expect(ended.stdout).toContain('ECONNREFUSED');
      expect(ended.stdout + ended.stderr).not.toMatch(/very-secret|127\.0\.0\.1|whsec_/);
    });
  });

  it('is checked by doctor, which sends nothing and shows only the host of a URL', async () => {
    const { stdout } = await workspace.run('doctor', '--json');
    const { checks } = JSON.parse(stdout) as { checks: { name: string; says: string }[] };
    const host = new URL(hook.url).host;
    const rest = 'valid; "gangway notifications test" sends a message';
    expect(checks.filter(({ name }) => /^(notifications|channel )/.test(name))).toMatchObject([
      { says: '2 channels; notices of unchanged budgets repeat after 168 h' },
      { name: 'channel billing', status: 'ok', says: `webhook at ${host}: ${rest}` },
      { name: 'channel chat', status: 'ok', says: `slack at ${host}: ${rest}` },
    ]);
    expect(stdout).not.toContain('very-secret');
    expect(hook.posts).toEqual([]);
  });
});
