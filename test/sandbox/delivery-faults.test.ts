import Stripe from 'stripe';
import { describe, expect, it } from 'vitest';
import type { WantedFaults } from '../../src/sandbox/faults/faults-schema.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import {
  answerWith,
  clock,
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

interface Faulty extends World {
  receiver: Receiver;
}

describe('an event', () => {
  it('that is lost never arrives, although the change has happened', async () => {
    const world = await openFaulty({ lose: { probability: 1, times: 1 } });
    const lost = world.sandbox.hire({ jobId: world.jobId }).contractId;
    const heard = world.sandbox.hire({ jobId: world.jobId }).contractId;
    await world.sandbox.advance(1000 * minuteMs);
    expect(contractsHeard(world)).toEqual([heard]);
    expect(world.sandbox.listDeliveries()).toMatchObject([
      { status: 'LOST', attempts: [], faults: ['lose'] },
      { status: 'DELIVERED', faults: [] },
    ]);
    const { contracts } = (await world.api('GET', '/contracts')).body;
    expect(contracts).toMatchObject([
      { id: heard, status: 'active' },
      { id: lost, status: 'active' },
    ]);
  });

  it('that was lost cannot be redelivered: there is nothing to send again', async () => {
    const world = await openFaulty({ lose: 1 });
    world.sandbox.hire({ jobId: world.jobId });
    const [{ id: deliveryId, endpointId } = never()] = world.sandbox.listDeliveries();
    const path = `/webhook-endpoints/${endpointId}/redeliver`;
    expect((await world.api('POST', path, { body: { deliveryId } })).status).toBe(404);
    expect((await world.api('POST', path, { body: {} })).body.requeued).toBe(0);
  });

  it('that is repeated arrives again, some time after it was taken, under its id and signed', async () => {
    const world = await openFaulty({ repeat: 1 });
    await world.hire();
    expect(world.receiver.received).toHaveLength(1);
    await world.sandbox.advance(1000 * minuteMs);
    expect(world.receiver.received).toHaveLength(2);
    const [first = never(), second = never()] = world.receiver.received;
    expect(second.rawBody).toBe(first.rawBody);
    expect(idOf(second)).toBe(idOf(first));
    expect(world.sandbox.listDeliveries()).toMatchObject([
      { status: 'DELIVERED', attempts: { length: 2 }, faults: ['repeat'] },
    ]);
  });

  it('that is repeated arrives again only after it was delivered, however many attempts that needs', async () => {
    const world = await openFaulty({ repeat: 1 });
    world.receiver.respond = answerWith(500);
    world.sandbox.hire({ jobId: world.jobId });
    await world.sandbox.advance(minuteMs);
    expect(world.receiver.received).toHaveLength(2);
    world.receiver.respond = answerWith(200);
    await world.sandbox.advance(1000 * minuteMs);
    expect(world.receiver.received).toHaveLength(4);
  });

  it('that is reordered arrives after the one that follows it', async () => {
    const world = await openFaulty({ reorder: { probability: 1, times: 1 } });
    const ids = await hireOneByOne(world, 3);
    expect(contractsHeard(world)).toEqual([ids[1], ids[0], ids[2]]);
    expect(world.sandbox.listDeliveries().map(({ faults }) => faults)).toEqual([['reorder'], [], []]);
  });

  it('that is reordered waits for the next event, not for one that was sent before it', async () => {
    const world = await openFaulty({});
    world.receiver.respond = answerWith(500);
    const [earlier] = await world.hire();
    world.receiver.respond = answerWith(200);
    world.sandbox.setFaults(undefined, { reorder: 1 });
    const held = world.sandbox.hire({ jobId: world.jobId }).contractId;
    await world.sandbox.advance(minuteMs);
    expect(contractsHeard(world)).toEqual([earlier, earlier]);
    const [next] = await world.hire();
    expect(contractsHeard(world).slice(2)).toEqual([next, held]);
  });

  it('swaps its order with the next one if all are reordered', async () => {
    const world = await openFaulty({ reorder: 1 });
    const [a, b, c, d] = await hireOneByOne(world, 4);
    expect(contractsHeard(world)).toEqual([b, a, d, c]);
  });

  it('that is reordered is not held back for longer than three minutes', async () => {
    const world = await openFaulty({ reorder: 1 });
    world.sandbox.hire({ jobId: world.jobId });
    await world.sandbox.advance(3 * minuteMs - 1);
    expect(world.receiver.received).toHaveLength(0);
    await world.sandbox.advance(1);
    expect(world.receiver.received).toHaveLength(1);
  });

  it('that is delayed arrives within what was set, each after a wait of its own', async () => {
    const world = await openFaulty({ delay: { probability: 1, ms: 10 * minuteMs } });
    const ids = await hireOneByOne(world, 10);
    expect(world.receiver.received).toHaveLength(0);
    const counts: number[] = [];
    for (let minute = 0; minute < 10; minute++) {
      await world.sandbox.advance(minuteMs);
      counts.push(world.receiver.received.length);
    }
    expect(counts.at(-1)).toBe(10);
    expect(new Set(counts).size).toBeGreaterThan(3);
    expect(contractsHeard(world)).not.toEqual(ids);
  });
});

describe('an attempt that is corrupted', () => {
  it('has a signature that does not match, is refused, and is repeated after the usual wait', async () => {
    const world = await openFaulty({ corrupt: { probability: 1, times: 2 } });
    world.sandbox.hire({ jobId: world.jobId });
    await world.sandbox.advance(minuteMs);
    expect(world.sandbox.snapshot().webhookEndpoints).toMatchObject([{ consecutiveFailures: 2 }]);
    await world.sandbox.advance(5 * minuteMs - 1);
    expect(world.receiver.received).toHaveLength(2);
    await world.sandbox.advance(1);
    expect(world.sandbox.listDeliveries()).toMatchObject([
      {
        status: 'DELIVERED',
        attempts: [
          { httpStatus: 401, isCorrupted: true },
          { httpStatus: 401, isCorrupted: true },
          { httpStatus: 200, isCorrupted: false },
        ],
        faults: ['corrupt', 'corrupt'],
      },
    ]);
  });

  it('is decided for each attempt: the next one of the delivery may be good', async () => {
    const world = await openFaulty({ corrupt: 0.5 });
    await hireOneByOne(world, 8);
    await world.sandbox.advance(1000 * minuteMs);
    const fates = world.sandbox.listDeliveries().map(({ attempts }) => attempts.map(({ isCorrupted }) => isCorrupted));
    expect(fates).toContainEqual([false]);
    expect(fates).toContainEqual([true, false]);
  });

  it('differs in one character', async () => {
    const world = await openFaulty({ corrupt: { probability: 1, times: 1 } });
    world.sandbox.hire({ jobId: world.jobId });
    await world.sandbox.advance(minuteMs);
    const [bad = '', good = ''] = world.receiver.received.map(({ rawBody }) => rawBody);
    expect(bad).toHaveLength(good.length);
    expect([...good].filter((character, index) => character !== bad[index])).toHaveLength(1);
  });

  it('disables the endpoint like any other failure', async () => {
    const world = await openFaulty({ corrupt: 1 });
    await world.hire(10);
    expect(world.sandbox.snapshot().webhookEndpoints).toMatchObject([{ status: 'DISABLED' }]);
  });
});

describe('the faults of deliveries', () => {
  const some = {
    lose: 0.3,
    repeat: 0.3,
    reorder: 0.3,
    delay: { probability: 0.3, ms: 5 * minuteMs },
    corrupt: 0.2,
  };

  it('are the same with the same seed, to the last byte, and others with another', async () => {
    const [first, same, other] = [await play('one'), await play('one'), await play('two')];
    expect(same).toEqual(first);
    const kinds = new Set(first.happened.map(({ fault }) => fault));
    expect(kinds).toEqual(new Set(['lose', 'repeat', 'reorder', 'delay', 'corrupt']));
    expect(other.happened.map(({ fault }) => fault)).not.toEqual(first.happened.map(({ fault }) => fault));

    async function play(seed: string) {
      const world = await openFaulty(some, { seed });
      await hireOneByOne(world, 40);
      await world.sandbox.advance(1000 * minuteMs);
      const { happened } = world.sandbox.snapshot().faults;
      const arrived = world.receiver.received.map(({ rawBody }) => rawBody).toSorted();
      return { happened, arrived };
    }
  });

  it('of one install do not depend on what another does', async () => {
    expect(await play(true)).toEqual(await play(false));

    async function play(hasNeighbour: boolean) {
      const world = await openFaulty(some);
      const { installId } = world.sandbox.createInstall();
      const job = world.sandbox.createJob({ installId });
      const { token } = world.sandbox.reconnect(installId);
      if (hasNeighbour) await connect(world, token, job.id);
      for (let count = 0; count < 20; count++) {
        if (hasNeighbour) world.sandbox.hire({ jobId: job.id });
        await hireOneByOne(world, 1);
      }
      await world.sandbox.advance(1000 * minuteMs);
      const mine = world.sandbox.listDeliveries().filter((one) => one.installId === world.installId);
      return mine.map(({ faults, status, attempts }) => ({ faults, status, attempts }));
    }
  });

  it('do not depend on when the answers come', async () => {
    expect(await play(0)).toEqual(await play(5));

    async function play(answeredWithinMs: number) {
      const world = await openFaulty(some);
      const answer = world.receiver.respond;
      world.receiver.respond = (response, received) => {
        setTimeout(() => answer(response, received), Math.random() * answeredWithinMs);
      };
      for (let count = 0; count < 50; count++) world.sandbox.hire({ jobId: world.jobId });
      await world.sandbox.advance(1000 * minuteMs);
      return world.sandbox.listDeliveries();
    }
  });

  it('of one kind do not depend on those of another', async () => {
    const alone = await play({ lose: 0.3 });
    expect(alone).toContain(true);
    expect(alone).toContain(false);
    expect(await play(some)).toEqual(alone);

    async function play(faults: WantedFaults) {
      const world = await openFaulty(faults);
      await hireOneByOne(world, 20);
      return world.sandbox.listDeliveries().map(({ status }) => status === 'LOST');
    }
  });

  it('with probability 0 change no byte', async () => {
    const never: WantedFaults = { ...some, lose: 0, repeat: 0, reorder: 0, corrupt: 0 };
    const quiet = await play({});
    expect(await play({ ...never, delay: { probability: 0, ms: minuteMs } })).toEqual(quiet);
    expect(quiet).toHaveLength(10);

    async function play(faults: WantedFaults) {
      const world = await openFaulty(faults);
      await hireOneByOne(world, 10);
      await world.sandbox.advance(1000 * minuteMs);
      // The port of the receiver differs each time.
      return world.receiver.received.map(({ rawBody, headers: { host: _, ...headers } }) => ({
        rawBody,
        headers,
      }));
    }
  });
});

async function openFaulty(faults: WantedFaults, options: SandboxOptions = {}): Promise<Faulty> {
  const world = await openWorld({ clock, ...options });
  const receiver = await openReceiver();
  await world.link('a');
  const { secret } = await world.subscribe(receiver.url);
  receiver.respond = (response, received) => answerWith(isSigned(received, secret) ? 200 : 401)(response);
  world.sandbox.setFaults(undefined, faults);
  return { ...world, receiver };
}

/** Another customer, whose deliveries fail. */
async function connect(world: World, token: string, jobId: string): Promise<void> {
  const receiver = await openReceiver();
  receiver.respond = answerWith(500);
  const link = { externalProjectId: 'neighbour', jobId };
  await world.api('POST', '/project-links', { token, body: link });
  const endpoint = { url: receiver.url, eventTypes: ['contract.started'] };
  const created = await world.api('POST', '/webhook-endpoints', { token, body: endpoint });
  expect(created.status).toBe(201);
}

/** Each step is delivered, unless it is lost, before the next step. */
async function hireOneByOne({ hire }: Faulty, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let hired = 0; hired < count; hired++) ids.push(...(await hire()));
  return ids;
}

function isSigned({ rawBody, headers }: Received, secret: string): boolean {
  const signature = String(headers['x-opentrain-signature']);
  const nowMs = clock.now().getTime();
  try {
    stripe.webhooks.constructEvent(rawBody, signature, secret, 300, undefined, nowMs);
    return true;
  } catch {
    return false;
  }
}

function contractsHeard({ receiver }: Faulty): string[] {
  return receiver.received.map(({ event }) => event.resourceId);
}
