import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createMailChannel,
  createSlackChannel,
  createWebhookChannel,
  type Message,
  signMessage,
} from '../../src/notify/channels.ts';
import { createSendMail } from '../../src/notify/send-mail.ts';
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts';
import { answering, type Hook, type HookPost, openHook } from '../support/hook.ts';
import { type MailBox, openMailBox, refusal } from '../support/mail-box.ts';
import { never, newNotice, secret } from '../support/notices.ts';

const createdAt = '2026-03-15T12:00:00.000Z';
const message: Message = { id: 'msg_1', createdAt, notices: [newNotice()] };
const depleted = newNotice({ kind: 'budget.depleted', contractId: 'c2' });

/** Checks it as a receiver does, at the time of the test. */
function verify(post: HookPost | undefined, now: Date, key = secret): unknown {
  vi.useFakeTimers({ toFake: ['Date'], now });
  return new Webhook(key).verify(post?.body ?? '', post?.headers as Record<string, string>);
}

describe('a webhook', () => {
  let hook: Hook;
  let clock: FakeClock;

  beforeEach(async () => {
    hook = await openHook('/hook/?key=a%20b&x=/');
    clock = createFakeClock();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  const channel = (url = hook.url, timeoutMs?: number) =>
    createWebhookChannel('billing', { url, secret }, clock, timeoutMs);

  it('is a complete request that Standard Webhooks libraries verify', async () => {
    expect(await channel().send(message, never)).toEqual({ outcome: 'sent' });
    const [post] = hook.posts;
    expect(post?.path).toBe('/hook/?key=a%20b&x=/');
    expect(post?.headers['content-type']).toBe('application/json');
    expect(verify(post, clock.now())).toEqual({
      type: 'budget.low',
      timestamp: '2026-03-15T11:59:00.000Z',
      data: {
        state: 'raised',
        install: 'acme',
        contractId: 'c1',
        isRepeat: false,
        budget: {
          fundedVolume: 100,
          fundedAmountUsd: 2500,
          consumedVolume: 85,
          remainingVolume: 15,
          consumedFraction: 0.85,
        },
        advice: 'Fund the next milestone (gangway milestones fund, or ask the customer)',
        runbook: 'docs/operating.md#budget_low',
      },
    });
  });

  it('is signed again at every attempt, with the same id and body', async () => {
    const sending = channel();
    await sending.send(message, never);
    clock.advance(86_400_000);
    await sending.send(message, never);
    const [first, again] = hook.posts;
    expect(again?.headers['webhook-id']).toBe('msg_1');
    expect(again?.body).toBe(first?.body);
    expect(verify(again, clock.now())).toMatchObject({ type: 'budget.low' });
    expect(() => verify(first, clock.now())).toThrow('Message timestamp too old');
  });

  it('is not accepted with another secret, or if it was changed', async () => {
    await channel().send(message, never);
    const [post] = hook.posts;
    const other = `whsec_${Buffer.alloc(32, 'another').toString('base64')}`;
    expect(() => verify(post, clock.now(), other)).toThrow('No matching signature');
    const changed = post && { ...post, body: post.body.replace('0.85', '0.95') };
    expect(() => verify(changed, clock.now())).toThrow('No matching signature');
  });

  it('of a test is no notice', async () => {
    await channel().send({ ...message, notices: [] }, never);
    const tried = { type: 'test', timestamp: createdAt, data: {} };
    expect(verify(hook.posts[0], clock.now())).toEqual(tried);
  });

  it('follows no redirect', async () => {
    const elsewhere = await openHook();
    hook.answer = answering(307, { location: elsewhere.url });
    const sent = await channel().send(message, never);
    expect(sent).toEqual({ outcome: 'refused', failure: 'answered 307' });
    expect(elsewhere.posts).toEqual([]);
  });

  it('waits no longer than the time-out', async () => {
    hook.answer = () => undefined;
    expect(await channel(hook.url, 100).send(message, never)).toEqual({
      outcome: 'deferred',
      failure: 'Could not send a notice: no answer within 100 ms',
    });
  });

  it.each([
    ['has arrived', 200, { outcome: 'sent' }],
    ['has not arrived', 503, { outcome: 'deferred', failure: 'answered 503' }],
  ])('%s if an answer of %i begins and never ends', async (_what, status, sent) => {
    let isCut = false;
    hook.answer = (response) => {
      response.on('close', () => {
        isCut = true;
      });
      response.writeHead(status);
      const more = () => void (response.writable && response.write('x'.repeat(10_000), more));
      more();
    };
    expect(await channel().send(message, never)).toEqual(sent);
    await expect.poll(() => isCut).toBe(true);
  });

  it.each([200, 503])('is deferred at the time-out while its answer of %i drips', async (status) => {
    let isCut = false;
    hook.answer = (response) => {
      response.writeHead(status);
      const drip = setInterval(() => response.write('x'), 5);
      response.on('close', () => {
        clearInterval(drip);
        isCut = true;
      });
    };
    expect(await channel(hook.url, 100).send(message, never)).toEqual({
      outcome: 'deferred',
      failure: `answered ${status}, but not in full within 100 ms`,
    });
    await expect.poll(() => isCut).toBe(true);
  });

  it('quotes nothing of the answer but the status', async () => {
    const body = JSON.stringify({ error: `no ${hook.url} and ${secret}` });
    hook.answer = answering(400, { 'content-type': 'application/json' }, body);
    const sent = await channel().send(message, never);
    expect(sent).toEqual({ outcome: 'refused', failure: 'answered 400' });
  });
});

/** From the specification (github.com/standard-webhooks), and from its test vectors. */
describe('a signature', () => {
  it('equals the published example', () => {
    const headers = signMessage(
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      new Date(1614265330 * 1000),
      '{"test": 2432232314}',
    );
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });
});

describe('a chat', () => {
  let hook: Hook;

  beforeEach(async () => {
    hook = await openHook('/services/T0/B0/very-secret');
  });

  const send = (...notices: ReturnType<typeof newNotice>[]) =>
    createSlackChannel('chat', { url: hook.url }).send({ ...message, notices }, never);
  const said = () => JSON.parse(hook.posts[0]?.body ?? '') as object;

  it('gets all notices in one message of plain text', async () => {
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

function sendMail(box: MailBox, notices = [newNotice(), depleted], to = ['ops@example.com']) {
  const sender = { from: 'Studio <studio@example.com>', replyTo: 'help@example.com' };
  const channel = createMailChannel('finance', { to }, sender, createSendMail(box.server));
  return channel.send({ ...message, notices }, never);
}

describe('a mail', () => {
  it('has all notices for all receivers', async () => {
    const box = await openMailBox();
    const to = ['ops@example.com', 'finance@example.com'];
    expect(await sendMail(box, undefined, to)).toEqual({ outcome: 'sent' });
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
    await sendMail(box);
    await sendMail(box);
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
    expect(await sendMail(box, undefined, to)).toEqual({ outcome: 'sent', failure: '1 of 2 addresses were refused' });
    expect(box.mails).toMatchObject([{ to: ['ops@example.com'] }]);
  });

  it('is refused without naming addresses if the server refuses all of them', async () => {
    const box = await openMailBox({
      onRcptTo: ({ address }, _, done) => done(refusal(550, `5.1.1 <${address}> unknown`)),
    });
    expect(await sendMail(box)).toMatchObject({ outcome: 'refused', failure: '550 5.1.1 at RCPT TO' });
  });

  it('is deferred while the server is down', async () => {
    const box = await openMailBox();
    await box.close();
    expect(await sendMail(box)).toEqual({ outcome: 'deferred', failure: 'ESOCKET' });
  });

  it('of a test says that it is a test', async () => {
    const box = await openMailBox();
    await sendMail(box, []);
    expect(box.mails[0]?.text.trimEnd()).toBe('Gangway: a test notice');
  });
});
