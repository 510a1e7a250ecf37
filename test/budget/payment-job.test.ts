import { expect, it } from 'vitest';
import type { Context } from '../../src/context.ts';
import { claimJob } from '../../src/jobs/job-store.ts';
import { instantIn } from '../../src/lib/clock.ts';
import { openPaymentWorld } from '../support/payment-world.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { countTroublesIn, troublesIn } from '../support/troubles.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Does something after the list was read and before it is stored. */
function afterList(ctx: Context, happens: () => Promise<void>): Context {
  const sources = [...ctx.sources].map(([install, source]) => {
    const { listPendingPayments: list } = source;
    const listPendingPayments: typeof list = async (signal) => {
      const listed = (await list?.(signal)) ?? [];
      await happens();
      return listed;
    };
    return [install, { ...source, listPendingPayments }] as const;
  });
  return { ...ctx, sources: new Map(sources) };
}

describeAnyDatabase('what waits for money', (openFresh) => {
  const open = async () => await openPaymentWorld(await openFresh());

  it('follows the list, and is over only after a second list without it', async () => {
    const { sandbox, contractId, engine, read, waiting } = await open();
    const { id } = sandbox.billContract(contractId);
    await read();
    expect(await waiting()).toEqual([id]);
    sandbox.settlePayment(id);
    engine.clock.advance(hourMs);
    expect(await read()).toBe(true);
    expect(await waiting()).toEqual([id]);
    engine.clock.advance(9 * minuteMs);
    expect(await read()).toBe(false);
    engine.clock.advance(minuteMs);
    expect(await read()).toBe(true);
    expect(await waiting()).toEqual([]);
  });

  it.each(['one that is empty', 'one that fails', 'one that is cut off'])(
    'is not over by a list that is wrong: %s',
    async (wrong) => {
      const { sandbox, contractId, engine, front, read, waiting } = await open();
      const { id } = sandbox.billContract(contractId);
      await read();
      const instead = {
        'one that is empty': { body: { payments: [] } },
        'one that fails': { status: 403, body: { error: 'no' } },
        'one that is cut off': { body: { payments: [], hasMore: true } },
      }[wrong];
      front.meddle(() => instead);
      for (let count = 0; count < (wrong === 'one that is empty' ? 1 : 5); count += 1) {
        engine.clock.advance(hourMs);
        await read();
      }
      front.meddle();
      for (let count = 0; count < 5; count += 1) {
        expect(await waiting()).toEqual([id]);
        engine.clock.advance(hourMs);
        await read();
      }
      expect(await waiting()).toEqual([id]);
    },
  );

  it('is read daily, hourly while something waits, and soon after an event', async () => {
    const { sandbox, contractId, engine, front, read, ask } = await open();
    const readIn = async (ms: number) => {
      engine.clock.advance(ms - 1);
      expect(await read()).toBe(false);
      engine.clock.advance(1);
      expect(await read()).toBe(true);
    };
    await read();
    await readIn(dayMs);
    sandbox.billContract(contractId);
    await ask();
    expect(await read()).toBe(true);
    await readIn(10 * minuteMs);
    await readIn(hourMs);
    expect(front.asked()).toHaveLength(5);
  });

  it('is read again if an event comes in during the reading', async () => {
    const { sandbox, contractId, ctx, read, ask, waiting } = await open();
    const asking = afterList(ctx, async () => {
      sandbox.billContract(contractId);
      await ask();
    });
    await read(asking);
    expect(await waiting()).toEqual([]);
    expect(await read()).toBe(true);
    expect(await waiting()).toHaveLength(1);
  });

  it('is stored only by the process that has the lease', async () => {
    const { sandbox, contractId, engine, ctx, read, waiting } = await open();
    const frozen = afterList(ctx, async () => {
      sandbox.billContract(contractId);
      engine.clock.advance(2 * minuteMs);
      expect(await read()).toBe(true);
    });
    await read(frozen);
    expect(await waiting()).toHaveLength(1);
    const late = afterList(ctx, async () => {
      sandbox.billContract(contractId);
      engine.clock.advance(2 * minuteMs);
      const now = engine.clock.now().toISOString();
      await claimJob(ctx, 'payments', 'acme', { now, leasedUntil: instantIn(engine.clock, minuteMs) });
    });
    engine.clock.advance(dayMs);
    await read(late);
    expect(engine.log.text()).toContain('another process holds it now');
    expect(await waiting()).toHaveLength(1);
  });

  it('is shown with the address where it is settled; a list that cannot be read is shown after three tries', async () => {
    const { sandbox, contractId, engine, front, read, ask } = await open();
    const { id } = sandbox.billContract(contractId, { amountUsd: 50, paymentUrl: 'https://pay.example/inv?a=1' });
    await read();
    expect(await troublesIn(engine)).toMatchObject([
      {
        kind: 'payment_waiting',
        install: 'acme',
        says: 'A payment of 50 USD of acme waits for you.',
        detail: expect.stringMatching(new RegExp(`^Payment ${id} for job job_\\w+$`)),
        action: 'Settle it at https://pay.example/inv?a=1',
        url: 'https://pay.example/inv?a=1',
      },
    ]);
    expect(await countTroublesIn(engine, new Map())).toEqual(['no_customer']);
    front.meddle(() => ({ status: 403, body: { error: 'no scope' } }));
    for (let count = 0; count < 3; count += 1) {
      engine.clock.advance(hourMs);
      expect(await read()).toBe(true);
      await ask();
      expect(await read()).toBe(false);
    }
    expect((await troublesIn(engine)).slice(1)).toMatchObject([{ kind: 'reading_fails', install: 'acme' }]);
    expect(engine.log.text()).not.toContain('pay.example');
  });

  it('is named up to twenty, and counted beyond that', async () => {
    const { sandbox, contractId, engine, read } = await open();
    for (let count = 0; count < 520; count += 1) sandbox.billContract(contractId);
    await read();
    const troubles = await troublesIn(engine);
    expect(troubles).toHaveLength(21);
    expect(troubles).toContainEqual(
      expect.objectContaining({ says: '480 more payments of acme wait for you.', count: 480 }),
    );
  });
});
