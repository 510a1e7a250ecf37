import { beforeEach, expect, it } from 'vitest';
import { convergeLeaseMs } from '../../src/converge/claim-store.ts';
import { usualSecondLookMs as secondLookMs } from '../../src/converge/converge-steps.ts';
import { commitIntent } from '../../src/converge/settle-store.ts';
import { AppError } from '../../src/domain/errors.ts';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import { claimOne, converge, convergeDue, crashingAtReceipt, receiptsOf } from '../support/converging.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const hourMs = 3_600_000;
const started = fullEvent({ type: 'contract.started' });
const ended = fullEvent({ type: 'contract.ended' });
const seat = 'street-signs/cmu1';

describeAnyDatabase('a membership', (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createMemoryTool();
  });

  const now = () => toInstant(engine.clock.now());
  const membership = async () => (await engine.membershipRows())[0];
  const members = () => tool.members('street-signs');

  /** When the next try is due, from now. */
  async function waitMs(): Promise<number> {
    const { nextAttemptAt = null } = (await membership()) ?? {};
    return Date.parse(nextAttemptAt ?? '') - engine.clock.now().getTime();
  }

  it('takes a look, an intent, a call, a read-back and a receipt', async () => {
    await engine.apply([started]);
    const seen: object[] = [];
    tool.before = async (call) => {
      if (call === 'add') seen.push(...(await engine.rows('intent')));
    };
    expect(await convergeDue(engine, tool)).toEqual(['add added']);
    expect(tool.calls).toEqual([`find ${seat}`, `add ${seat}`, `find ${seat}`]);
    expect(seen).toMatchObject([{ operation: 'add', generation: 1, wasFound: false }]);
    expect(await membership()).toMatchObject({
      state: 'active',
      isOurs: true,
      memberId: 'cmu1',
      nextAttemptAt: null,
      failure: null,
      leaseToken: null,
      leasedUntil: null,
    });
    expect(await receiptsOf(engine)).toEqual(['add added']);
    expect(await convergeDue(engine, tool)).toEqual([]);
  });

  it('is removed when the contract ends', async () => {
    await engine.apply([started]);
    await convergeDue(engine, tool);
    await engine.apply([ended]);
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
    expect(members()).toEqual([]);
    expect(await membership()).toMatchObject({ state: 'removed', isOurs: false });
    expect(await engine.rows('intent')).toMatchObject([{}, { operation: 'remove', generation: 2, wasFound: true }]);
  });

  it('that others have removed and added again is not ours any more', async () => {
    await engine.apply([started]);
    await convergeDue(engine, tool);
    await engine.apply([ended]);
    await convergeDue(engine, tool);
    tool.seed('street-signs', 'cmu1');
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc2' })]);
    expect(await convergeDue(engine, tool)).toEqual(['add already_member']);
    await engine.apply([fullEvent({ type: 'contract.ended', contract: 'cmc2' })]);
    expect(await convergeDue(engine, tool)).toEqual(['remove released']);
    expect(members()).toEqual(['cmu1']);
  });

  it('is not added if the configuration no longer routes to its group', async () => {
    await engine.apply([started]);
    expect(await convergeDue(engine, tool, { routeLink: () => undefined })).toEqual(['add refused']);
    expect(tool.calls.filter((call) => call.startsWith('add'))).toEqual([]);
    expect(await engine.rows('intent')).toEqual([]);
    expect(await membership()).toMatchObject({ state: 'failed', isOurs: false });

    engine.clock.advance(hourMs);
    expect(await convergeDue(engine, tool)).toEqual(['add added']);
  });

  it('is known as ours after a crash between the call and its receipt', async () => {
    await engine.apply([started]);
    const database = crashingAtReceipt(engine.database);
    await expect(converge(engine, tool, await claimOne(engine), { database })).rejects.toThrow('crash');
    expect(members()).toEqual(['cmu1']);
    expect(await receiptsOf(engine)).toEqual([]);
    expect(await convergeDue(engine, tool)).toEqual([]);

    engine.clock.advance(convergeLeaseMs);
    expect(await convergeDue(engine, tool)).toEqual(['add already_member']);
    expect(await membership()).toMatchObject({ state: 'active', isOurs: true });
    await engine.apply([ended]);
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
    expect(members()).toEqual([]);
  });

  it('is removed from a tool that finds accounts by id and does not end them', async () => {
    const { removeAccount: _, addMember, ...adapter } = tool.adapter;
    const making: typeof addMember = async (...asked) => ({
      ...(await addMember.call(tool.adapter, ...asked)),
      account: 'made',
    });
    const findAccountById = async (id: string) => ({ id, email: null });
    const keeping = { ...tool, adapter: { ...adapter, addMember: making, findAccountById } };
    await engine.apply([started]);
    await convergeDue(engine, keeping);
    await engine.apply([ended]);
    expect(await convergeDue(engine, keeping)).toEqual(['remove removed']);
    expect(members()).toEqual([]);
  });

  it('is removed once more by its id after a crash before the receipt, if a look proves nothing', async () => {
    await engine.apply([started]);
    await convergeDue(engine, tool);
    await engine.apply([ended]);
    await engine.brake();
    const { adapter } = tool;
    const unseen = { ...tool, adapter: { ...adapter, capabilities: { ...adapter.capabilities, removesUnseen: true } } };
    const database = crashingAtReceipt(engine.database);
    await expect(converge(engine, unseen, await claimOne(engine), { database })).rejects.toThrow('crash');
    expect(members()).toEqual([]);

    engine.clock.advance(convergeLeaseMs);
    expect(await convergeDue(engine, unseen)).toEqual(['remove removed']);
    expect(tool.calls.filter((call) => call.startsWith('remove'))).toEqual([`remove ${seat}`, `remove ${seat}`]);
  });

  it('is removed by its id only if no look has ever found it, if nothing tells whose the id is', async () => {
    const { adapter } = tool;
    const capabilities = { ...adapter.capabilities, removesUnseen: 'if_never_seen' as const };
    const blind = { ...tool, adapter: { ...adapter, capabilities } };
    const hidden = {
      ...tool,
      adapter: { ...adapter, capabilities, findMember: async () => null },
    };
    await engine.apply([started]);
    expect(await convergeDue(engine, hidden)).toEqual(['add failed']);
    await engine.apply([ended]);
    expect(await convergeDue(engine, hidden)).toEqual(['remove removed']);
    expect(members()).toEqual([]);

    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc2' })]);
    expect(await convergeDue(engine, blind)).toEqual(['add added']);
    await engine.apply([fullEvent({ type: 'contract.ended', contract: 'cmc2' })]);
    tool.calls.length = 0;
    expect(await convergeDue(engine, hidden)).toEqual(['remove already_absent']);
    engine.clock.advance(secondLookMs);
    expect(await convergeDue(engine, hidden)).toEqual(['remove already_absent']);
    expect(await membership()).toMatchObject({ state: 'removed' });
    expect(tool.calls.filter((call) => call.startsWith('remove'))).toEqual([]);
  });

  it('is removed by its id after a crash during an addition that may still arrive, if a look proves nothing', async () => {
    await engine.apply([started]);
    await convergeDue(engine, tool);
    await engine.apply([ended]);
    await convergeDue(engine, tool);
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc2' })]);
    await commitIntent(
      engine,
      await claimOne(engine),
      { operation: 'add', found: null },
      now(),
      instantIn(engine.clock, convergeLeaseMs),
    );
    engine.clock.advance(convergeLeaseMs);
    await engine.apply([fullEvent({ type: 'contract.ended', contract: 'cmc2' })]);
    tool.calls.length = 0;
    const { adapter } = tool;
    const unseen = { ...tool, adapter: { ...adapter, capabilities: { ...adapter.capabilities, removesUnseen: true } } };
    expect(await convergeDue(engine, unseen)).toEqual(['remove removed']);
    expect(tool.calls).toContain(`remove ${seat}`);
  });

  it('is known as ours if the tool added the member and answered with an error', async () => {
    await engine.apply([started]);
    tool.after = (call) => {
      if (call === 'add') throw new AppError('unavailable', 'answered 500', { status: 500 });
    };
    expect(await convergeDue(engine, tool)).toEqual(['add failed']);
    engine.clock.advance(hourMs);
    expect(await convergeDue(engine, tool)).toEqual(['add already_member']);
    expect(await membership()).toMatchObject({ state: 'active', isOurs: true });
  });

  it('counts as added only once the tool shows it', async () => {
    await engine.apply([started]);
    tool.after = (call) => {
      if (call === 'add') tool.unseat('street-signs', 'cmu1');
    };
    expect(await convergeDue(engine, tool)).toEqual(['add failed']);
    expect(tool.calls).toEqual([`find ${seat}`, `add ${seat}`, `find ${seat}`, `find ${seat}`, `find ${seat}`]);
    expect(await membership()).toMatchObject({
      state: 'pending',
      failure: 'The tool says it added the member but does not list them',
    });
  });

  it('that the tool refuses is retried after an hour', async () => {
    await engine.apply([started]);
    tool.before = (call) => {
      if (call === 'add') throw new AppError('invalid', 'answered 400: no', { status: 400 });
    };
    expect(await convergeDue(engine, tool)).toEqual(['add refused']);
    expect(await membership()).toMatchObject({
      state: 'failed',
      failure: 'answered 400: no',
      attempts: 1,
      nextAttemptAt: toInstant(new Date(engine.clock.now().getTime() + hourMs)),
    });
    expect(await engine.rows('receipt')).toMatchObject([{ outcome: 'refused', toolStatus: 400 }]);
    engine.clock.advance(hourMs - 1);
    expect(await convergeDue(engine, tool)).toEqual([]);
    engine.clock.advance(1);
    tool.before = () => undefined;
    expect(await convergeDue(engine, tool)).toEqual(['add added']);
    expect(await membership()).toMatchObject({ state: 'active', failure: null, attempts: 0 });
  });

  it('waits as long as a busy tool asks for', async () => {
    await engine.apply([started]);
    tool.before = () => {
      throw new AppError('rate_limited', 'answered 429', { status: 429, retryAfterMs: 90_000 });
    };
    expect(await convergeDue(engine, tool)).toEqual(['add failed']);
    expect(await waitMs()).toBe(90_000);
    expect(await membership()).toMatchObject({ state: 'pending' });
    engine.clock.advance(89_999);
    expect(await convergeDue(engine, tool)).toEqual([]);
  });

  it('is retried for ever with back-off, at most an hour apart', async () => {
    await engine.apply([started]);
    tool.before = () => {
      throw new AppError('unavailable', 'no answer');
    };
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 40; attempt += 1) {
      expect(await convergeDue(engine, tool)).toEqual(['add failed']);
      const waited = await waitMs();
      expect(waited).toBeLessThanOrEqual(Math.min(1000 * 2 ** attempt, hourMs));
      waits.push(waited);
      engine.clock.advance(waited);
    }
    expect(await membership()).toMatchObject({ state: 'pending', attempts: 40 });
    // Jitter is full: of thirty waits of up to an hour, some are long and they differ.
    const late = waits.slice(-28);
    expect(Math.max(...late)).toBeGreaterThan(hourMs / 4);
    expect(new Set(late).size).toBeGreaterThan(20);
  });

  it('aborts a call that does not end', async () => {
    await engine.apply([started]);
    tool.before = () => new Promise(() => undefined);
    const claim = await claimOne(engine);
    const result = await converge(engine, tool, claim, { timeoutMs: 20 });
    expect(result).toMatchObject({
      outcome: 'failed',
      message: 'The tool did not answer within 20 ms',
    });
    expect(await membership()).toMatchObject({ state: 'pending', leaseToken: null });
  });

  it('is put back without a receipt when the engine stops', async () => {
    await engine.apply([started]);
    const stopping = new AbortController();
    tool.before = (call) => {
      if (call !== 'add') return undefined;
      stopping.abort();
      return new Promise(() => undefined);
    };
    const { signal } = stopping;
    expect(await converge(engine, tool, await claimOne(engine), { signal })).toBeNull();
    expect(await receiptsOf(engine)).toEqual([]);
    expect(await membership()).toMatchObject({ leaseToken: null, nextAttemptAt: now() });
  });

  it('of an invited trainer is looked at until the trainer is in', async () => {
    await engine.apply([started]);
    const { adapter } = tool;
    let isInvited = true;
    tool.adapter = {
      ...adapter,
      async findMember(...args) {
        const member = await adapter.findMember(...args);
        return member === null ? null : { ...member, isInvited };
      },
    };
    expect(await convergeDue(engine, tool)).toEqual(['add invited']);
    expect(await membership()).toMatchObject({ state: 'invited', isOurs: true });
    expect(await waitMs()).toBe(hourMs);
    engine.clock.advance(hourMs);
    expect(await convergeDue(engine, tool)).toEqual(['add already_member']);
    expect(await membership()).toMatchObject({ state: 'invited' });
    isInvited = false;
    engine.clock.advance(hourMs);
    expect(await convergeDue(engine, tool)).toEqual(['add already_member']);
    expect(await membership()).toMatchObject({ state: 'active', isOurs: true, nextAttemptAt: null });
    // Nothing is news but the invitation and its end.
    expect(await receiptsOf(engine)).toEqual(['add invited', 'add already_member']);
  });

  it('of a protected account is never added or removed', async () => {
    const protectedAccounts = ['CMU1@opentrain.work'];
    await engine.apply([started]);
    expect(await convergeDue(engine, tool, { protectedAccounts })).toEqual(['add refused']);
    expect(tool.calls).toEqual([]);
    expect(await membership()).toMatchObject({ state: 'failed' });

    engine.clock.advance(hourMs);
    expect(await convergeDue(engine, tool)).toEqual(['add added']);
    await engine.apply([ended]);
    expect(await convergeDue(engine, tool, { protectedAccounts: ['cmu1'] })).toEqual(['remove protected']);
    expect(members()).toEqual(['cmu1']);
    expect(await membership()).toMatchObject({ state: 'released', isOurs: false });
  });

  it('keeps addresses out of receipts and failures', async () => {
    await engine.apply([started]);
    tool.before = () => {
      throw new Error('cmu1@opentrain.work is not welcome');
    };
    await convergeDue(engine, tool);
    const kept = JSON.stringify([await engine.rows('receipt'), await membership()]);
    expect(kept).toContain('is not welcome');
    expect(kept).not.toContain('cmu1@opentrain.work');
  });
});
