import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Message } from '../../src/notify/channels.ts';
import { createWebhookChannel, signMessage } from '../../src/notify/channels.ts';
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts';
import { answering, type Hook, type HookPost, openHook } from '../support/hook.ts';
import { never, newNotice, secret } from '../support/notices.ts';

const createdAt = '2026-03-15T12:00:00.000Z';
const message: Message = { id: 'msg_1', createdAt, notices: [newNotice()] };

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
        advice: 'Ask the customer to fund the next milestone',
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

  it('has arrived if the answer begins with success and never ends', async () => {
    let isCut = false;
    hook.answer = (response) => {
      response.on('close', () => {
        isCut = true;
      });
      response.writeHead(200);
      const more = () => void (response.writable && response.write('x'.repeat(10_000), more));
      more();
    };
    expect(await channel().send(message, never)).toEqual({ outcome: 'sent' });
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

  it('has not arrived if a failure never ends', async () => {
    hook.answer = (response) => {
      response.writeHead(503);
      const more = () => void (response.writable && response.write('x'.repeat(10_000), more));
      more();
    };
    const sent = await channel().send(message, never);
    expect(sent).toEqual({ outcome: 'deferred', failure: 'answered 503' });
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
