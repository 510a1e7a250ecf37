import { beforeEach, describe, expect, it } from 'vitest';
import { createSlackChannel } from '../../src/notify/channels.ts';
import { answering, type Hook, openHook } from '../support/hook.ts';
import { never, newNotice } from '../support/notices.ts';

const createdAt = '2026-03-15T12:00:00.000Z';

describe('a chat', () => {
  let hook: Hook;

  beforeEach(async () => {
    hook = await openHook('/services/T0/B0/very-secret');
  });

  const send = (...notices: ReturnType<typeof newNotice>[]) =>
    createSlackChannel('chat', { url: hook.url }).send({ id: 'msg_1', createdAt, notices }, never);
  const said = () => JSON.parse(hook.posts[0]?.body ?? '') as object;

  it('gets all notices in one message of plain text', async () => {
    const depleted = newNotice({ kind: 'budget.depleted', contractId: 'c2' });
    expect(await send(newNotice(), depleted)).toEqual({ outcome: 'sent' });
    expect(hook.posts).toMatchObject([
      { path: '/services/T0/B0/very-secret', headers: { 'content-type': 'application/json' } },
    ]);
    expect(said()).toEqual({
      text: expect.stringMatching(
        /^Gangway: contract budgets: 1 DEPLETED, 1 LOW\nDEPLETED · contract c2 of acme .*\nLOW · contract c1 of acme .*$/,
      ),
    });
  });

  it('has no link or mention from an id', async () => {
    await send(newNotice({ contractId: '<!channel> & <http://evil.example|c1>' }));
    expect(JSON.stringify(said())).toContain('contract &lt;!channel&gt; &amp; … of acme');
  });

  it('gets no more text than the strictest service takes', async () => {
    const contractId = '<&>'.repeat(30);
    await send(...Array.from({ length: 500 }, () => newNotice({ contractId })));
    const { text } = said() as { text: string };
    expect(text.length).toBeLessThanOrEqual(2000);
    expect(text).toMatch(/… and \d+ more: gangway notifications list$/);
  });

  it('of a test says that it is a test', async () => {
    await send();
    expect(said()).toEqual({ text: 'Gangway: a test notice' });
  });

  it('that is archived is gone; one that refuses is quoted by its status alone', async () => {
    hook.answer = answering(410, {}, 'channel_is_archived');
    expect(await send(newNotice())).toEqual({ outcome: 'gone', failure: 'answered 410' });
    hook.answer = answering(403, {}, `no such thing as ${hook.url}`);
    expect(await send(newNotice())).toEqual({ outcome: 'refused', failure: 'answered 403' });
  });
});
