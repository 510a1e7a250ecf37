import { beforeEach, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { claimDue, converge, convergeDue, resetDue } from '../../support/converging.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createSharedLinkTool } from '../../support/inviting-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { watchQueries } from '../../support/watch-queries.ts';

const minuteMs = 60_000;

describeAnyDatabase('the one link that lets all trainers into a tool', (openFresh) => {
  let engine: Engine;
  let tool: ReturnType<typeof createSharedLinkTool>;

  const person = (index: number) => ({ contract: `c${index}`, trainer: `t${index}` });
  const start = (index: number) => fullEvent({ type: 'contract.started', ...person(index) });

  /** Contracts of these trainers start, and the tool invites the trainers. */
  async function invite(...indexes: number[]): Promise<void> {
    await engine.apply(indexes.map(start));
    await convergeDue(engine, tool);
  }

  /** Their contracts end, and the trainers are removed. The tool does not list them, so each removal takes two looks, a minute apart. */
  async function remove(...indexes: number[]): Promise<void> {
    await engine.apply(indexes.map((index) => fullEvent({ type: 'contract.ended', ...person(index) })));
    const absent = indexes.map(() => 'remove already_absent');
    expect(await convergeDue(engine, tool)).toEqual(absent);
    engine.clock.advance(minuteMs);
    expect(await convergeDue(engine, tool)).toEqual(absent);
  }

  /** Others wait with the link: it is made worthless when 15 minutes are over. */
  const untilDue = () => engine.clock.advance(15 * minuteMs);

  /** What a worker does within a second. */
  async function turn(): Promise<string[]> {
    await resetDue(engine, tool);
    return await convergeDue(engine, tool);
  }

  const removals = async () => (await turn()).filter((done) => done.startsWith('remove')).toSorted();

  const isInvited = (outcome: string) => outcome === 'add invited';

  const renewals = () => tool.calls.filter((call) => call.startsWith('renew'));

  beforeEach(async () => {
    engine = createEngine(await openFresh(), { limits: { max: 1000, maxFraction: 1 } });
    tool = createSharedLinkTool();
    await invite(1, 2, 3, 4, 5);
  });

  it('is reset once for all removals within 15 minutes, while others have the link', async () => {
    await invite(...Array.from({ length: 20 }, (_, index) => index + 6));
    await remove(1);
    expect(await turn()).toEqual([]);
    engine.clock.advance(7 * minuteMs);
    await remove(2);
    await remove(3);
    engine.clock.advance(5 * minuteMs - 1);
    await turn();
    expect(tool.resets()).toBe(0);
    engine.clock.advance(1);
    const outcomes = await turn();
    expect(tool.resets()).toBe(1);
    // Who waits is invited anew, and who was to be out is looked for once more.
    expect(outcomes.filter(isInvited)).toHaveLength(22);
    expect(outcomes.filter((outcome) => outcome === 'remove already_absent')).toHaveLength(3);
    expect(renewals()).toHaveLength(22);
    engine.clock.advance(60 * minuteMs);
    await turn();
    expect(tool.resets()).toBe(1);
    expect(renewals()).toHaveLength(22);
  });

  it('is reset at once if no trainer has the link, and then after 15 minutes', async () => {
    await remove(1, 2, 3, 4, 5);
    await turn();
    expect(tool.resets()).toBe(1);
    await invite(6);
    engine.clock.advance(minuteMs);
    await remove(6);
    engine.clock.advance(13 * minuteMs - 1);
    await turn();
    expect(tool.resets()).toBe(1);
    engine.clock.advance(1);
    await turn();
    expect(tool.resets()).toBe(2);
  });

  it('is reset once an hour if an operator has delivered it to a trainer, who needs the new one', async () => {
    const handed = { content: null, deliveredAt: '2026-03-15T10:00:00.000Z' };
    await engine.database.kysely
      .updateTable('invitation')
      .set({ ...handed, deliveredBy: 'operator' })
      .where('membershipId', '=', 4)
      .execute();
    await remove(1);
    for (const index of [2, 3]) {
      engine.clock.advance(20 * minuteMs);
      await remove(index);
      await turn();
    }
    expect(tool.resets()).toBe(0);
    engine.clock.advance(20 * minuteMs);
    await turn();
    expect(tool.resets()).toBe(1);
    expect(renewals()).toEqual(['renew street-signs/invited:t4', 'renew street-signs/invited:t5']);
  });

  it('is reset for a removal that is settled while it is being reset', async () => {
    await remove(1);
    untilDue();
    tool.before = async (_, subject) => {
      tool.before = () => undefined;
      if (subject === 'link') await remove(2);
    };
    await turn();
    expect(tool.resets()).toBe(1);
    engine.clock.advance(15 * minuteMs - 1);
    await turn();
    expect(tool.resets()).toBe(1);
    engine.clock.advance(1);
    await turn();
    expect(tool.resets()).toBe(2);
  });

  it('lets no trainer stay in who used it after their contract had ended', async () => {
    await remove(1);
    await turn();
    engine.clock.advance(minuteMs);
    await remove(2, 3);
    tool.seed('street-signs', 't2', 't2@opentrain.work');
    engine.clock.advance(11 * minuteMs);
    expect(await removals()).toEqual([]);
    expect(tool.members('street-signs')).toEqual(['t2']);
    engine.clock.advance(minuteMs);
    expect(await removals()).toEqual(['remove already_absent', 'remove already_absent', 'remove removed']);
    expect(tool.members('street-signs')).toEqual([]);
    engine.clock.advance(60 * minuteMs);
    expect(await removals()).toEqual([]);
  });

  it('lets no trainer stay in who came in by it again after their removal', async () => {
    tool.seed('street-signs', 't2', 't2@opentrain.work');
    await remove(1);
    await turn();
    await engine.apply([fullEvent({ type: 'contract.ended', ...person(2) })]);
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
    tool.seed('street-signs', 't2', 't2@opentrain.work');
    engine.clock.advance(15 * minuteMs);
    expect(await removals()).toEqual(['remove already_absent', 'remove removed']);
    expect(tool.members('street-signs')).toEqual([]);
    engine.clock.advance(60 * minuteMs);
    expect(await removals()).toEqual([]);
  });

  it('is reset by the next instance after a crash before or after the reset', async () => {
    const crash = new AppError('unavailable', 'the process is gone');
    await remove(1);
    untilDue();
    let updates = 0;
    // The first one claims.
    const before = watchQueries(engine.database, {
      'update linkReset'() {
        updates += 1;
        if (updates > 1) throw crash;
      },
    });
    tool.before = () => Promise.reject(crash);
    await expect(resetDue(engine, tool, { database: before })).rejects.toThrow(crash);
    tool.before = () => undefined;
    expect(await turn()).toEqual([]);
    engine.clock.advance(minuteMs);
    updates = 0;
    await expect(resetDue(engine, tool, { database: before })).rejects.toThrow(crash);
    expect([tool.resets(), renewals()]).toEqual([1, []]);
    engine.clock.advance(minuteMs);
    expect((await turn()).filter(isInvited)).toHaveLength(4);
    expect(tool.resets()).toBe(2);
    expect(new Set(renewals()).size).toBe(4);
  });

  it('holds up no removal if the reset fails, and is retried until it succeeds', async () => {
    tool.before = (_, subject) => {
      if (subject === 'link') throw new AppError('unavailable', 'not now');
    };
    await remove(1);
    untilDue();
    expect((await engine.membershipRows())[0]).toMatchObject({ state: 'removed' });
    for (let tried = 0; tried < 5; tried += 1) {
      await turn();
      engine.clock.advance(60 * minuteMs);
    }
    expect(renewals()).toEqual([]);
    expect(engine.log.lines()).toContainEqual(
      expect.objectContaining({
        msg: expect.stringContaining('could not be reset'),
        group: 'street-signs',
      }),
    );
    tool.before = () => undefined;
    expect((await turn()).filter(isInvited)).toHaveLength(4);
    expect(tool.resets()).toBe(1);
  });

  it('is reset by one of several instances', async () => {
    await remove(1);
    untilDue();
    await Promise.all([1, 2, 3].map(() => resetDue(engine, tool)));
    expect(tool.resets()).toBe(1);
    expect((await convergeDue(engine, tool)).filter(isInvited)).toHaveLength(4);
  });

  it('that was requested before a reset and stored after it is requested again', async () => {
    await remove(1);
    untilDue();
    await engine.apply([start(6)]);
    const [claim] = await claimDue(engine);
    if (claim === undefined) throw new Error('nothing to add');
    const { addMember } = tool.adapter;
    tool.adapter.addMember = async (...call) => {
      const added = await addMember(...call);
      engine.clock.advance(1);
      await resetDue(engine, tool);
      return added;
    };
    expect(await converge(engine, tool, claim)).toMatchObject({ outcome: 'invited' });
    tool.adapter.addMember = addMember;
    expect((await convergeDue(engine, tool)).filter(isInvited)).toHaveLength(5);
    expect(renewals()).toContain('renew street-signs/invited:t6');
    expect(await convergeDue(engine, tool)).toEqual([]);
  });
});
