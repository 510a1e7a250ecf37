import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import Stripe from 'stripe';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { until } from '../support/until.ts';
import {
  answerWith,
  idOf,
  minuteMs,
  never,
  openReceiver,
  openWorld,
  type Received,
  type Receiver,
  type World,
} from './sandbox-harness.ts';

/** Verifies by the same scheme, and shares no code with the sandbox. */
const stripe = new Stripe('sk_test_of_nobody');

interface Delivering extends World {
  receiver: Receiver;
  endpointId: string;
  secret: string;
}

describe('a delivery', () => {
  it('is one signed event record', async () => {
    const world = await openDelivering();
    const [contractId] = await world.hire();

    const [{ headers, rawBody } = never()] = world.receiver.received;
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'OpenTrain-Partner-Webhooks/1.0',
      'x-opentrain-event': 'contract.started',
      'x-opentrain-delivery': expect.any(String),
      'x-opentrain-signature': expect.stringMatching(/^t=\d+,v1=[0-9a-f]{64}$/),
    });
    const signature = String(headers['x-opentrain-signature']);
    const event = stripe.webhooks.constructEvent(rawBody, signature, world.secret);
    expect(event).toMatchObject({ type: 'contract.started', resourceId: contractId });
    expect(() => stripe.webhooks.constructEvent(`${rawBody} `, signature, world.secret)).toThrow(/signature/);
    expect(() => stripe.webhooks.constructEvent(rawBody, signature, 'whsec_other')).toThrow();
  });

  it('may carry the placeholder prefix in its headers', async () => {
    const world = await openDelivering({ headerPrefix: 'X-Service-' });
    await world.hire();
    const [{ headers } = never()] = world.receiver.received;
    expect(headers).toMatchObject({
      'x-service-event': 'contract.started',
      'x-service-delivery': expect.any(String),
      'x-service-signature': expect.stringMatching(/^t=/),
    });
    expect(headers).not.toHaveProperty('x-opentrain-signature');
  });

  it('is attempted five times, after 1, 5, 30 and 120 minutes, and has then FAILED', async () => {
    const world = await openDelivering();
    world.receiver.respond = answerWith(500);
    await world.hire();

    let attempts = 1;
    for (const waitMinutes of [1, 5, 30, 120]) {
      expect(world.receiver.received).toHaveLength(attempts);
      await world.sandbox.advance(waitMinutes * minuteMs - 1);
      expect(world.receiver.received).toHaveLength(attempts);
      await world.sandbox.advance(1);
      attempts += 1;
    }
    expect(world.receiver.received).toHaveLength(5);
    expect(deliveries(world)).toMatchObject([{ status: 'FAILED', attempts: { length: 5 } }]);
    await world.sandbox.advance(1000 * minuteMs);
    expect(world.receiver.received).toHaveLength(5);
  });

  it('keeps its id and body over its attempts, and is signed afresh for each', async () => {
    let lateMs = 0;
    const world = await openDelivering({ clock: { now: () => new Date(Date.now() + lateMs) } });
    world.receiver.respond = answerWith(500);
    await world.hire();
    lateMs = minuteMs;
    await world.sandbox.advance(minuteMs);

    const [first = never(), second = never()] = world.receiver.received;
    expect(second.headers['x-opentrain-delivery']).toBe(first.headers['x-opentrain-delivery']);
    expect(second.rawBody).toBe(first.rawBody);
    expect(timestampOf(second) - timestampOf(first)).toBeGreaterThanOrEqual(60);
    const signature = String(second.headers['x-opentrain-signature']);
    stripe.webhooks.constructEvent(second.rawBody, signature, world.secret);
  });

  it.each([200, 201, 204, 299])('is done when it is answered %i', async (status) => {
    const world = await openDelivering();
    world.receiver.respond = answerWith(status);
    world.sandbox.hire({ jobId: world.jobId });
    await world.sandbox.advance(1000 * minuteMs);
    expect(world.receiver.received).toHaveLength(1);
    expect(deliveries(world)).toMatchObject([{ status: 'DELIVERED', attempts: [{ httpStatus: status, error: null }] }]);
  });

  it.each([301, 307, 308, 400, 401, 404, 410, 413, 429, 500, 503])(
    'has failed when it is answered %i, and follows no redirect',
    async (status) => {
      const world = await openDelivering();
      const elsewhere = await openReceiver();
      world.receiver.respond = answerWith(status, { location: elsewhere.url });
      await world.hire();
      expect(elsewhere.received).toEqual([]);
      expect(deliveries(world)).toMatchObject([{ status: 'PENDING', attempts: [{ httpStatus: status }] }]);
    },
  );

  it('has failed when nothing answers in time', async () => {
    const world = await openDelivering({ deliveryTimeoutMs: 50 });
    world.receiver.respond = () => {};
    await world.hire();
    expect(deliveries(world)).toMatchObject([
      { status: 'PENDING', attempts: [{ httpStatus: null, error: 'no answer within 50 ms' }] },
    ]);
  });

  it('has failed when no receiver listens', async () => {
    const world = await openWorld();
    await world.link('a');
    await world.subscribe(`http://127.0.0.1:${await findClosedPort()}/hook`);
    await world.hire();
    expect(deliveries(world)).toMatchObject([
      { attempts: [{ httpStatus: null, error: expect.stringContaining('ECONNREFUSED') }] },
    ]);
  });

  it('succeeds although the answer is much longer than the part that is read', async () => {
    const world = await openDelivering();
    world.receiver.respond = (response) => {
      response.writeHead(200).write('x'.repeat(1024 * 1024));
    };
    await world.hire();
    expect(deliveries(world)).toMatchObject([{ status: 'DELIVERED' }]);
  });

  it('waits a minute in a second if time is scaled by 60', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const world = await openDelivering({ timeScale: 60 });
    world.receiver.respond = answerWith(500);
    await world.hire();
    vi.advanceTimersByTime(999);
    await world.sandbox.idle();
    expect(world.receiver.received).toHaveLength(1);
    vi.advanceTimersByTime(2);
    await world.sandbox.idle();
    expect(world.receiver.received).toHaveLength(2);
  });

  it('that a stop interrupts is not counted, and is made again after the next start', async () => {
    const world = await openDelivering();
    const reached = new Promise<void>((resolve) => {
      world.receiver.respond = () => resolve();
    });
    world.sandbox.hire({ jobId: world.jobId });
    await reached;
    await world.sandbox.stop();
    expect(deliveries(world)).toMatchObject([{ status: 'PENDING', attempts: [] }]);

    world.receiver.respond = answerWith(200);
    expect((await world.sandbox.start()).url).toBe(world.url);
    await world.sandbox.idle();
    expect(deliveries(world)).toMatchObject([{ status: 'DELIVERED', attempts: { length: 1 } }]);
  });
});

describe('an endpoint', () => {
  it('is disabled by ten failed attempts in a row, and its pending deliveries are FAILED', async () => {
    const world = await openDelivering();
    world.receiver.respond = answerWith(500);
    await world.hire(9);
    expect(await readEndpoint(world)).toMatchObject({ status: 'ACTIVE', consecutiveFailures: 9 });

    await world.hire();
    expect(await readEndpoint(world)).toMatchObject({
      status: 'DISABLED',
      consecutiveFailures: 10,
      disabledAt: expect.stringMatching(/Z$/),
      disabledReason: expect.stringContaining('10'),
    });
    expect(statuses(world)).toEqual(Array(10).fill('FAILED'));
    await world.sandbox.advance(1000 * minuteMs);
    expect(world.receiver.received).toHaveLength(10);
  });

  it('starts counting anew with every success', async () => {
    const world = await openDelivering();
    for (const [status, times] of [
      [500, 9],
      [200, 1],
      [500, 9],
    ] as const) {
      world.receiver.respond = answerWith(status);
      await world.hire(times);
    }
    expect(await readEndpoint(world)).toMatchObject({ status: 'ACTIVE', consecutiveFailures: 9 });
  });

  it('never gets the events of the time in which it was disabled', async () => {
    const world = await openDelivering();
    await update(world, { status: 'DISABLED' });
    const { contractId } = world.sandbox.hire({ jobId: world.jobId });
    await update(world, { status: 'ACTIVE' });
    await world.sandbox.advance(1000 * minuteMs);
    expect(world.receiver.received).toEqual([]);
    world.sandbox.endContract(contractId);
    await world.sandbox.idle();
    expect(types(world)).toEqual(['contract.ended']);
  });

  it('is enabled again with its count at zero', async () => {
    const world = await openDisabled();
    expect(await update(world, { status: 'ACTIVE' })).toMatchObject({
      status: 'ACTIVE',
      consecutiveFailures: 0,
      disabledAt: null,
      disabledReason: null,
    });
    await world.hire();
    expect(await readEndpoint(world)).toMatchObject({ status: 'ACTIVE', consecutiveFailures: 1 });
  });

  it('gets no event from before it was created, and no type that it is not subscribed to', async () => {
    const world = await openWorld();
    const receiver = await openReceiver();
    await world.link('a');
    const { contractId } = world.sandbox.hire({ jobId: world.jobId });
    await world.subscribe(receiver.url, ['contract.started', 'milestone.funded']);
    world.sandbox.endContract(contractId);
    world.sandbox.fundMilestone(contractId);
    await world.sandbox.advance(1000 * minuteMs);
    expect(receiver.received.map(({ event }) => event.type)).toEqual(['milestone.funded']);
  });

  it('is one of several of its install that all get the event, each with its own delivery', async () => {
    const world = await openDelivering();
    const second = await openReceiver();
    const { secret } = await world.subscribe(second.url);
    await world.hire();
    const [one = never(), two = never()] = [...world.receiver.received, ...second.received];
    expect(two.rawBody).toBe(one.rawBody);
    expect(two.headers['x-opentrain-delivery']).not.toBe(one.headers['x-opentrain-delivery']);
    const signature = String(two.headers['x-opentrain-signature']);
    stripe.webhooks.constructEvent(two.rawBody, signature, secret);
  });

  it('that is deleted takes its pending deliveries with it', async () => {
    const world = await openDelivering();
    world.receiver.respond = answerWith(500);
    await world.hire();
    await world.api('DELETE', `/webhook-endpoints/${world.endpointId}`);
    await world.sandbox.advance(1000 * minuteMs);
    expect(world.receiver.received).toHaveLength(1);
    expect(statuses(world)).toEqual(['DISCARDED']);
  });

  it('that hangs sees 32 attempts at once, and does not hold up another', async () => {
    const world = await openDelivering({ deliveryTimeoutMs: 60_000 });
    world.receiver.respond = () => {};
    const healthy = await openReceiver();
    await world.subscribe(healthy.url);
    for (let hired = 0; hired < 40; hired++) world.sandbox.hire({ jobId: world.jobId });
    const came = () => [healthy.received.length, world.receiver.received.length].join();
    await until('all that can have come', came, (counts) => counts === '40,32');
  });
});

describe('a redelivery', () => {
  it('of all repeats the FAILED ones under their old ids, with five attempts again', async () => {
    const world = await openDisabled();
    await update(world, { status: 'ACTIVE' });
    const idsBefore = world.receiver.received.map(idOf);
    const answer = await redeliver(world, {});
    expect(answer).toMatchObject({
      status: 200,
      body: {
        webhookEndpoint: { id: world.endpointId },
        requeued: 10,
        message: expect.any(String),
      },
    });
    world.receiver.received.length = 0;
    await world.sandbox.advance(5 * minuteMs);
    expect(world.receiver.received.map(idOf).toSorted()).toEqual(idsBefore.toSorted());

    // All ten failed once more, which disabled the endpoint again.
    expect(statuses(world)).toEqual(Array(10).fill('FAILED'));
    expect((await redeliver(world, {})).body.requeued).toBe(10);
    world.receiver.respond = answerWith(200);
    await world.sandbox.advance(1000 * minuteMs);
    expect(world.receiver.received).toHaveLength(10);
    await update(world, { status: 'ACTIVE' });
    await world.sandbox.idle();
    expect(statuses(world)).toEqual(Array(10).fill('DELIVERED'));
  });

  it('of all repeats none that was delivered or is pending', async () => {
    const world = await openDelivering();
    await world.hire();
    world.receiver.respond = answerWith(500);
    await world.hire();
    expect((await redeliver(world, {})).body.requeued).toBe(0);
    expect((await redeliver(world, undefined)).body.requeued).toBe(0);
  });

  it('of one repeats it whatever its status', async () => {
    const world = await openDelivering();
    await world.hire();
    const [first = never()] = world.receiver.received;
    const { body } = await redeliver(world, { deliveryId: idOf(first) });
    expect(body.requeued).toBe(1);
    await world.sandbox.advance(5 * minuteMs);
    const [, second = never()] = world.receiver.received;
    expect([idOf(second), second.rawBody]).toEqual([idOf(first), first.rawBody]);
    expect(deliveries(world)).toMatchObject([{ status: 'DELIVERED', attempts: { length: 2 } }]);
  });

  it('of one that has FAILED makes five more attempts', async () => {
    const world = await openDelivering();
    world.receiver.respond = answerWith(500);
    world.sandbox.hire({ jobId: world.jobId });
    await world.sandbox.advance(1000 * minuteMs);
    expect(statuses(world)).toEqual(['FAILED']);
    world.receiver.received.length = 0;
    // Otherwise ten failures in a row would disable the endpoint first.
    await update(world, { status: 'ACTIVE' });
    await redeliver(world, {});
    await world.sandbox.advance(5 * minuteMs - 1);
    expect(world.receiver.received).toHaveLength(0);
    await world.sandbox.advance(1000 * minuteMs);
    expect(world.receiver.received).toHaveLength(5);
    expect(statuses(world)).toEqual(['FAILED']);
  });

  it('of one that is unknown, or of another endpoint, is answered 404', async () => {
    const world = await openDelivering();
    await world.hire();
    const other = await world.subscribe('https://bridge.example.com/hook');
    const [{ id: deliveryId } = never()] = deliveries(world);
    const elsewhere = await redeliver({ ...world, endpointId: other.id }, { deliveryId });
    expect(elsewhere.status).toBe(404);
    expect((await redeliver(world, { deliveryId: 'dlv_unknown' })).status).toBe(404);
    expect((await redeliver(world, { deliveryId: 7 })).status).toBe(400);
  });
});

async function openDelivering(options: SandboxOptions = {}): Promise<Delivering> {
  const world = await openWorld(options);
  const receiver = await openReceiver();
  await world.link('a');
  const { id: endpointId, secret } = await world.subscribe(receiver.url);
  return { ...world, receiver, endpointId, secret };
}

/** Ten contracts, ten failed deliveries, and a receiver that still fails. */
async function openDisabled(): Promise<Delivering> {
  const world = await openDelivering();
  world.receiver.respond = answerWith(500);
  await world.hire(10);
  expect(await readEndpoint(world)).toMatchObject({ status: 'DISABLED' });
  return world;
}

async function readEndpoint({ api, endpointId }: Delivering) {
  return (await api('GET', `/webhook-endpoints/${endpointId}`)).body.webhookEndpoint;
}

async function update({ api, endpointId }: Delivering, body: object) {
  return (await api('PATCH', `/webhook-endpoints/${endpointId}`, { body })).body.webhookEndpoint;
}

function redeliver({ api, endpointId }: Delivering, body: object | undefined) {
  return api('POST', `/webhook-endpoints/${endpointId}/redeliver`, { body });
}

function deliveries({ sandbox }: World) {
  return sandbox.listDeliveries();
}

function statuses(world: World): string[] {
  return deliveries(world).map(({ status }) => status);
}

function types({ receiver }: Delivering): string[] {
  return receiver.received.map(({ event }) => event.type);
}

function timestampOf({ headers }: Received): number {
  return Number(/^t=(\d+)/.exec(String(headers['x-opentrain-signature']))?.[1]);
}

async function findClosedPort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
