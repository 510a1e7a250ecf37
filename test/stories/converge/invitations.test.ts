import { beforeEach, expect, it } from 'vitest';
import { usualSecondLookMs as secondLookMs } from '../../../src/converge/converge-steps.ts';
import { invitationContext } from '../../../src/db/seal-contexts.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { InvitationContent } from '../../../src/domain/invitation.ts';
import { claimDue, convergeDue, receiptsOf, resetDue } from '../../support/converging.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createLoginTool, createSharedLinkTool } from '../../support/inviting-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const hourMs = 3_600_000;
const started = fullEvent({ type: 'contract.started' });
const ended = fullEvent({ type: 'contract.ended' });
const other = { contract: 'ctr_2', trainer: 'cmu2' };

async function invitationsOf({ box, database }: Engine): Promise<InvitationContent[]> {
  const rows = await database.kysely.selectFrom('invitation').selectAll().execute();
  return rows.flatMap(({ membershipId, content }) =>
    content === null ? [] : JSON.parse(box.open(content, invitationContext({ membershipId })).toString()),
  );
}

const statesOf = async (engine: Engine) =>
  (await engine.membershipRows()).map(({ state, memberId }) => [state, memberId]);

describeAnyDatabase('a tool with one link for all trainers', (openFresh) => {
  let engine: Engine;
  let tool: ReturnType<typeof createSharedLinkTool>;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createSharedLinkTool();
    await engine.apply([started]);
    expect(await convergeDue(engine, tool)).toEqual(['add invited']);
  });

  const link = (url = tool.link()) => ({ kind: 'link', url });

  it('invites people once, however long they take', async () => {
    expect(await statesOf(engine)).toEqual([['invited', 'invited:cmu1']]);
    expect(await invitationsOf(engine)).toEqual([link()]);
    engine.clock.advance(3 * hourMs);
    expect(await convergeDue(engine, tool)).toEqual(['add already_member']);
    expect(tool.calls.filter((call) => call.startsWith('invite'))).toHaveLength(1);
    expect(await receiptsOf(engine)).toEqual(['add invited']);
  });

  it('knows them as ours once they are in, and drops the link', async () => {
    tool.seed('street-signs', 'cmu1', 'cmu1@opentrain.work');
    engine.clock.advance(hourMs);
    await convergeDue(engine, tool);
    expect(await engine.membershipRows()).toMatchObject([{ state: 'active', memberId: 'cmu1', isOurs: true }]);
    expect(await engine.rows('invitation')).toEqual([]);
    await engine.apply([ended]);
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
    await resetDue(engine, tool);
    expect([tool.members('street-signs'), tool.resets()]).toEqual([[], 1]);
  });

  it('resets the link when a trainer leaves who never used it', async () => {
    await engine.apply([ended]);
    expect(await convergeDue(engine, tool)).toEqual(['remove already_absent']);
    await resetDue(engine, tool);
    expect(tool.resets()).toBe(1);
    engine.clock.advance(secondLookMs);
    expect(await convergeDue(engine, tool)).toEqual(['remove already_absent']);
    await resetDue(engine, tool);
    expect(tool.resets()).toBe(1);
    expect(await statesOf(engine)).toEqual([['removed', 'invited:cmu1']]);
    expect(await engine.rows('invitation')).toEqual([]);
  });

  it('invites again with the new link the trainers who still wait', async () => {
    await engine.apply([fullEvent({ type: 'contract.started', ...other })]);
    await convergeDue(engine, tool);
    await engine.apply([ended]);
    await convergeDue(engine, tool);
    expect(await convergeDue(engine, tool)).toEqual([]);
    engine.clock.advance(15 * 60_000);
    await resetDue(engine, tool);
    expect(await convergeDue(engine, tool)).toEqual(['remove already_absent', 'add invited']);
    expect(tool.calls.at(-1)).toBe('renew street-signs/invited:cmu2');
    expect(await invitationsOf(engine)).toEqual([link('https://tool.example.com/signup/1')]);
    expect(await convergeDue(engine, tool)).toEqual([]);
  });

  it('gives a login to the trainers who still wait, if the tool now makes logins', async () => {
    const login = createLoginTool();
    engine.clock.advance(hourMs);
    expect(await convergeDue(engine, login, { makesLogins: true })).toEqual(['add added']);
    expect(await statesOf(engine)).toEqual([['active', 'cmu1']]);
    expect(await invitationsOf(engine)).toMatchObject([{ kind: 'password' }]);
  });
});

describeAnyDatabase('a tool that makes logins', (openFresh) => {
  let engine: Engine;
  let tool: ReturnType<typeof createLoginTool>;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createLoginTool();
    await engine.apply([started]);
  });

  const password = () => tool.passwords.get('cmu1') ?? '';

  /** As the worker of such a tool does. */
  const convergeLogins = () => convergeDue(engine, tool, { makesLogins: true });

  it('keeps the password for the trainer who needs it, and for no other', async () => {
    expect(await convergeLogins()).toEqual(['add added']);
    expect(password()).toMatch(/^[\w.-]{24}$/);
    expect(await invitationsOf(engine)).toEqual([
      {
        kind: 'password',
        url: 'https://tool.example.com/login',
        username: 'cmu1@opentrain.work',
        password: password(),
      },
    ]);
    const written = JSON.stringify([await engine.rows('invitation'), await engine.rows('receipt')]);
    expect(written).not.toContain(password());
    expect(await engine.rows('intent')).toMatchObject([{ credential: null }]);
  });

  it('retries with the same password if the answer was lost', async () => {
    tool.after = (call) => {
      if (call === 'add') throw new AppError('unavailable', 'the answer was lost');
    };
    expect(await convergeLogins()).toEqual(['add failed']);
    const first = password();
    tool.after = () => undefined;
    tool.unseat('street-signs', 'cmu1');
    tool.passwords.clear();
    engine.clock.advance(hourMs);
    expect(await convergeLogins()).toEqual(['add added']);
    expect(password()).toBe(first);
  });

  it('shows the password if a crash left open whether the login was made', async () => {
    tool.after = (call) => {
      if (call === 'add') throw new AppError('unavailable', 'the answer was lost');
    };
    await convergeLogins();
    tool.after = () => undefined;
    engine.clock.advance(hourMs);
    expect(await convergeLogins()).toEqual(['add already_member']);
    expect(await invitationsOf(engine)).toEqual([
      { kind: 'password', url: null, username: 'cmu1@opentrain.work', password: password() },
    ]);
    expect(await engine.rows('intent')).toMatchObject([{ credential: null }]);
  });

  it('shows the password if the lost call makes the login just before the next try', async () => {
    const { addMember } = tool.adapter;
    const late: (() => Promise<unknown>)[] = [];
    const calls = new AbortController();
    tool.adapter.addMember = async (group, person) => {
      const isFirst = late.push(() => addMember(group, person, calls.signal)) === 1;
      if (isFirst) throw new AppError('unavailable', 'The answer was lost');
      await late[0]?.();
      return await addMember(group, person, calls.signal);
    };
    await convergeLogins();
    engine.clock.advance(hourMs);
    expect(await convergeLogins()).toEqual(['add added']);
    expect(password()).not.toBe('');
    expect(await invitationsOf(engine)).toMatchObject([{ kind: 'password', password: password() }]);
  });

  it('has no invitation for a trainer who had a login before', async () => {
    tool.passwords.set('cmu1', 'their own');
    expect(await convergeLogins()).toEqual(['add added']);
    expect(await engine.rows('invitation')).toEqual([]);
    expect(await engine.rows('intent')).toMatchObject([{ credential: null }]);
    expect(await claimDue(engine, { makesLogins: true })).toEqual([]);
  });
});
