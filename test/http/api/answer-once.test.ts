import { beforeEach, expect, it } from 'vitest';
import { housekeeping } from '../../../src/app/housekeeping.ts';
import type { Context } from '../../../src/context.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { beginAnswer, purgeAnswers } from '../../../src/http/api/kept-answer-store.ts';
import { answerOnce } from '../../../src/http/api/serve-api.ts';
import type { JobKind } from '../../../src/jobs/job.ts';
import { createJobWorker } from '../../../src/jobs/job-worker.ts';
import { createTestContext, startLoops } from '../../support/engine-harness.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const hourMs = 3_600_000;

describeAnyDatabase('an act with a key', (openFresh) => {
  let ctx: Context;
  let clock: FakeClock;
  let acts: number;

  beforeEach(async () => {
    clock = createFakeClock('2026-03-15T12:00:00.000Z');
    ctx = createTestContext(await openFresh(), { clock });
    acts = 0;
  });

  const act = async () => {
    acts += 1;
    return { secret: 'open sesame', number: acts };
  };
  const once = (given: { key?: string; request?: string; run?: () => Promise<unknown> } = {}) =>
    answerOnce(ctx, { key: given.key ?? 'k1', request: given.request ?? 'approve 1' }, given.run ?? act);
  const rows = () => ctx.database.kysely.selectFrom('keptAnswer').selectAll().orderBy('id').execute();

  it('runs once, and gets the same answer for a day', async () => {
    const first = await once();
    expect(first).toEqual({ status: 200, body: { secret: 'open sesame', number: 1 }, isReplayed: false });
    clock.advance(24 * hourMs);
    expect(await once()).toEqual({ ...first, isReplayed: true });
    clock.advance(1);
    expect(await once()).toMatchObject({ body: { number: 2 }, isReplayed: false });
    expect(await once({ key: 'k2' })).toMatchObject({ body: { number: 3 }, isReplayed: false });
  });

  it('is refused if the key was used for another request', async () => {
    await once();
    await expect(once({ request: 'approve 2' })).rejects.toMatchObject({ code: 'key_reused' });
    expect(acts).toBe(1);
  });

  it('is refused while it is running, and after it was interrupted', async () => {
    let goOn = () => {};
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const first = once({ run: () => gate.then(act) });
    await until('it is begun', rows, ({ length }) => length === 1);
    await expect(once()).rejects.toMatchObject({ code: 'conflict' });
    goOn();
    expect(await first).toMatchObject({ body: { number: 1 } });
    expect(await once()).toMatchObject({ body: { number: 1 }, isReplayed: true });

    await beginAnswer(ctx, { key: 'cut off', request: 'a' }, clock.now().toISOString(), '');
    await expect(once({ key: 'cut off', request: 'a' })).rejects.toMatchObject({ code: 'conflict' });
    expect(acts).toBe(1);
  });

  it('runs only once, however many requests come at once', async () => {
    const asked = await Promise.allSettled(Array.from({ length: 8 }, () => once()));
    expect(acts).toBe(1);
    for (const { status, ...rest } of asked) {
      if (status === 'rejected') expect(rest).toMatchObject({ reason: { code: 'conflict' } });
      else expect(rest).toMatchObject({ value: { body: { number: 1 } } });
    }
  });

  it('keeps a refusal, but not a temporary failure', async () => {
    const refuse = async () => {
      acts += 1;
      throw new AppError('conflict', 'It was decided before');
    };
    await expect(once({ run: refuse })).rejects.toMatchObject({ code: 'conflict' });
    expect(await once()).toMatchObject({ status: 409, body: { code: 'conflict' }, isReplayed: true });
    expect(acts).toBe(1);

    const fail = async () => {
      throw new AppError('unavailable', 'The marketplace does not answer');
    };
    await expect(once({ key: 'k2', run: fail })).rejects.toMatchObject({ code: 'unavailable' });
    expect(await once({ key: 'k2' })).toMatchObject({ status: 200, isReplayed: false });
  });

  it('is not repeated after an unexpected error, because nobody knows what was done', async () => {
    const breakOff = async () => {
      acts += 1;
      throw new TypeError('of something undefined');
    };
    await expect(once({ run: breakOff })).rejects.toThrow('of something undefined');
    await expect(once()).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('audit log') });
    expect(acts).toBe(1);
  });

  it('is stored without key, request or answer in plain text', async () => {
    await once({ key: 'otto and k1', request: 'take invitation 7' });
    const [row] = await rows();
    const text = JSON.stringify({ ...row, answer: row?.answer?.toString('latin1') });
    for (const clear of ['otto', 'invitation', 'sesame']) expect(text).not.toContain(clear);
  });

  it('is deleted after a day, even if no other key comes', async () => {
    await once();
    clock.advance(12 * hourMs);
    await once({ key: 'k2' });
    clock.advance(12 * hourMs + 1);
    const kind = housekeeping.find(({ name }) => name === 'purge answers') as JobKind;
    startLoops(createJobWorker(ctx, [kind]));
    await until('the first is gone', rows, ({ length }) => length === 1);
    expect(await purgeAnswers(ctx, clock.now().toISOString(), 10)).toBe(1);
  });
});
