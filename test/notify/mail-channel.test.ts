import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/notify/channels.ts';
import { createMailChannel } from '../../src/notify/channels.ts';
import { createSendMail } from '../../src/notify/send-mail.ts';
import { type MailBox, openMailBox, refusal } from '../support/mail-box.ts';
import { never, newNotice } from '../support/notices.ts';

const createdAt = '2026-03-15T12:00:00.000Z';
const message: Message = {
  id: 'msg_1',
  createdAt,
  notices: [newNotice(), newNotice({ kind: 'budget.depleted', contractId: 'c2' })],
};

function send(box: MailBox, changes: Partial<Message> = {}, to = ['ops@example.com']) {
  const sender = { from: 'Studio <studio@example.com>', replyTo: 'help@example.com' };
  const channel = createMailChannel('finance', { to }, sender, createSendMail(box.server));
  return channel.send({ ...message, ...changes }, never);
}

describe('a mail', () => {
  it('has all notices for all receivers', async () => {
    const box = await openMailBox();
    const to = ['ops@example.com', 'finance@example.com'];
    expect(await send(box, {}, to)).toEqual({ outcome: 'sent' });
    const [mail] = box.mails;
    expect(mail?.to).toEqual(to);
    expect(Object.fromEntries(mail?.headers ?? [])).toMatchObject({
      from: 'Studio <studio@example.com>',
      to: to.join(', '),
      'reply-to': 'help@example.com',
      subject: 'Gangway: contract budgets: 1 DEPLETED, 1 LOW',
      'message-id': '<gangway.msg_1@example.com>',
      'auto-submitted': 'auto-generated',
    });
    expect(mail?.text.trimEnd().split('\n')).toEqual([
      'Gangway: contract budgets: 1 DEPLETED, 1 LOW',
      '',
      expect.stringContaining('DEPLETED · contract c2 of acme'),
      expect.stringContaining('LOW · contract c1 of acme'),
    ]);
  });

  it('has the same id when it is sent again', async () => {
    const box = await openMailBox();
    await send(box);
    await send(box);
    const [first, again] = box.mails.map(({ headers, text }) => ({
      ...Object.fromEntries(headers),
      text,
    }));
    expect(again).toEqual(first);
  });

  it('says how many addresses were refused, and not which', async () => {
    const box = await openMailBox({
      onRcptTo: ({ address }, _, done) =>
        done(address.startsWith('old') ? refusal(550, `5.1.1 <${address}> unknown`) : null),
    });
    const to = ['ops@example.com', 'old@example.com'];
    expect(await send(box, {}, to)).toEqual({ outcome: 'sent', failure: '1 of 2 addresses were refused' });
    expect(box.mails).toMatchObject([{ to: ['ops@example.com'] }]);
  });

  it('is refused without naming addresses if the server refuses all of them', async () => {
    const box = await openMailBox({
      onRcptTo: ({ address }, _, done) => done(refusal(550, `5.1.1 <${address}> unknown`)),
    });
    const sent = await send(box);
    expect(sent).toMatchObject({ outcome: 'refused', failure: '550 5.1.1 at RCPT TO' });
  });

  it('is deferred while the server is down or refuses the login', async () => {
    const box = await openMailBox();
    await box.close();
    expect(await send(box)).toEqual({ outcome: 'deferred', failure: 'ESOCKET' });
  });

  it('of a test says that it is a test', async () => {
    const box = await openMailBox();
    await send(box, { notices: [] });
    expect(box.mails[0]?.text.trimEnd()).toBe('Gangway: a test notice');
  });
});
