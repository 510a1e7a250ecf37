import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSendMail, type Mail } from '../../src/notify/send-mail.ts';
import { openMailBox, refusal } from '../support/mail-box.ts';

const mail: Mail = {
  from: 'Studio <studio@example.com>',
  replyTo: 'help@example.com',
  to: 'amara.o@opentrain.work',
  subject: 'How to get in',
  text: 'Grüße,\nhier\n',
  messageId: '<1@example.com>',
  date: new Date('2026-03-15T12:00:00.000Z'),
};
const never = new AbortController().signal;

describe('sending a mail', () => {
  it('sends it unchanged', async () => {
    const box = await openMailBox();
    expect(await createSendMail(box.server)(mail, never)).toEqual({ outcome: 'sent' });
    const [received] = box.mails;
    expect(received?.to).toEqual([mail.to]);
    expect(received?.text.trimEnd()).toBe(mail.text.trimEnd());
    expect(Object.fromEntries(received?.headers ?? [])).toMatchObject({
      from: mail.from,
      to: mail.to,
      'reply-to': 'help@example.com',
      subject: mail.subject,
      'message-id': mail.messageId,
      'auto-submitted': 'auto-generated',
      date: 'Sun, 15 Mar 2026 12:00:00 +0000',
    });
  });

  it('adds no headers or recipients', async () => {
    const box = await openMailBox();
    const hostile = { subject: 'Hi\r\nBcc: eve@evil.example\r\n\r\nbody', to: 'a@x.example' };
    await createSendMail(box.server)({ ...mail, ...hostile }, never);
    const [received] = box.mails;
    expect(received?.to).toEqual(['a@x.example']);
    expect([...(received?.headers.keys() ?? [])]).not.toContain('bcc');
    expect(received?.text.trimEnd()).toBe(mail.text.trimEnd());
  });

  it.each([
    ['refused', 550, '550 at RCPT TO'],
    ['deferred', 450, '450 at RCPT TO'],
    ['unusable', 421, '421 at CONN'],
  ])('is %s if the server answers %s to the recipient', async (outcome, code, failure) => {
    const box = await openMailBox({
      onRcptTo: ({ address }, _, done) => done(refusal(code, `no ${address}`)),
    });
    expect(await createSendMail(box.server)(mail, never)).toEqual({ outcome, failure });
  });

  it('gives the enhanced status code, and no other text of the server', async () => {
    const box = await openMailBox({
      onRcptTo: ({ address }, _, done) => done(refusal(550, `5.1.1 <${address}> unknown`)),
    });
    const failure = '550 5.1.1 at RCPT TO';
    expect(await createSendMail(box.server)(mail, never)).toEqual({ outcome: 'refused', failure });
  });

  it('is unusable, not refused, if the login or the sender is refused', async () => {
    const closed = await openMailBox({
      onAuth: (_, __, done) => done(refusal(535, 'wrong password')),
    });
    const login = { user: 'studio', password: 'p@ss' };
    expect(await createSendMail({ ...closed.server, login })(mail, never)).toMatchObject({
      outcome: 'unusable',
      failure: expect.stringMatching(/^535 at AUTH/),
    });
    const strict = await openMailBox({
      onMailFrom: (_, __, done) => done(refusal(553, 'not yours')),
    });
    expect(await createSendMail(strict.server)(mail, never)).toEqual({
      outcome: 'unusable',
      failure: '553 at MAIL FROM',
    });
  });

  it('logs in if a login is configured', async () => {
    const seen: unknown[] = [];
    const box = await openMailBox({
      authOptional: false,
      onAuth({ username, password }, _, done) {
        seen.push([username, password]);
        done(null, { user: username });
      },
    });
    const login = { user: 'studio@example.com', password: 'p@ss:wörd' };
    const sent = await createSendMail({ ...box.server, login })(mail, never);
    expect([sent, seen]).toEqual([{ outcome: 'sent' }, [[login.user, login.password]]]);
  });

  it('sends nothing unencrypted to another machine', async () => {
    const asked: string[] = [];
    const box = await openMailBox({
      onMailFrom({ address }, _, done) {
        asked.push(address);
        done();
      },
    });
    // Leads here, but is no name of this machine.
    const elsewhere = { ...box.server, host: '0.0.0.0' };
    expect(await createSendMail(elsewhere)(mail, never)).toMatchObject({ outcome: 'unusable' });
    expect([asked, box.mails]).toEqual([[], []]);
  });

  it('trusts no self-signed certificate', async () => {
    const box = await openMailBox({}, { isEncrypted: true });
    expect(await createSendMail(box.server)(mail, never)).toMatchObject({ outcome: 'unusable' });
    expect(box.mails).toEqual([]);
  });

  it('stops waiting for a server that hangs when it is aborted', async () => {
    const connected = Promise.withResolvers<void>();
    const silent = createServer(() => connected.resolve()).listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    const stopping = new AbortController();
    const send = createSendMail({ host: '127.0.0.1', port, isEncrypted: false, login: null });
    const sending = send(mail, stopping.signal);
    await connected.promise;
    stopping.abort();
    expect(await sending).toEqual({ outcome: 'unusable', failure: 'EABORT' });
  });
});
