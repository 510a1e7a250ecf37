import { beforeEach, expect, it } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { convergeLeaseMs } from '../../src/converge/claim-store.ts';
import { claimOne, converge, convergeDue, crashingAtReceipt, hire } from '../support/converging.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import type { ScimDialect } from '../support/scim-dialect.ts';
import { scimAdapter } from '../support/scim-settings.ts';
import { openScimTool, type ScimDialectTool } from '../support/scim-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { troublesIn } from '../support/troubles.ts';

const hourMs = 3_600_000;
const group = 'street-signs';
const started = fullEvent({ type: 'contract.started' });
const ended = fullEvent({ type: 'contract.ended' });

/** Where people keep their accounts, so that only the group lets them in. */
const keeping = { offboarding: 'group', createGroups: false };

describeAnyDatabase('a SCIM server', (openFresh) => {
  let engine: Engine;
  let tool: ScimDialectTool;
  let strangers: string[];
  let adapter: Adapter;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
  });

  async function open(dialect: ScimDialect, settings: object = keeping): Promise<void> {
    tool = await openScimTool(dialect, [group]);
    strangers = ['one', 'two', 'three'].map((userName) => tool.seed({ userName }, group));
    adapter = scimAdapter(tool, settings);
  }

  const act = () => convergeDue(engine, { ...createMemoryTool(), adapter });
  const membership = async () => (await engine.membershipRows())[0];
  const newcomers = () => tool.members(group).filter((id) => !strangers.includes(id));
  const sent = (method: string) => tool.requests.filter(({ line }) => line.startsWith(`${method} /Groups`)).length;
  const messages = async () => (await engine.rows('receipt')).map((row) => (row as { message: string | null }).message);

  const troubles = async () =>
    (await troublesIn(engine))
      .filter(({ kind }) => kind === 'members_hidden')
      .map(({ tool: of, count }) => `${of} ${count}`);

  async function expectStrangersIn(): Promise<void> {
    expect(tool.members(group)).toEqual(expect.arrayContaining(strangers));
  }

  it('that shows nobody in a group and accepts PATCH: an addition leaves the three strangers in', async () => {
    await open({ showsMembers: 'as_empty' });
    await engine.apply([started]);
    expect(await act()).toEqual(['add failed']);
    await expectStrangersIn();
    expect(newcomers()).toHaveLength(1);
    expect(sent('PUT')).toBe(0);
    expect(await membership()).toMatchObject({
      state: 'pending',
      failure: 'The tool says it added the member but does not list them',
    });
    expect(await troubles()).toEqual(['studio 1']);
    engine.clock.advance(hourMs);
    expect(await act()).toEqual(['add failed']);
    expect(newcomers()).toHaveLength(1);
    await expectStrangersIn();
  });

  it('that shows only the first of a group and accepts no PATCH any more: a later addition leaves the others in', async () => {
    const patch = ['rfc' as const];
    const dialect: ScimDialect = { patch };
    await open(dialect);
    await hire(engine, 60);
    await act();
    const before = tool.members(group);
    expect(before).toHaveLength(strangers.length + 60);
    patch.pop();
    dialect.showsFirst = strangers.length + 10;
    await hire(engine, 1, 61);
    await act();
    expect((await messages()).at(-1)).toMatch(/Gangway does not write the whole group/);
    expect(tool.members(group)).toEqual(before);
  });

  it('that shows nobody and takes no PUT: the removal is sent, and is unproven until the account shows it', async () => {
    await open({ showsMembers: 'as_empty', putIsRefused: true });
    await engine.apply([started]);
    await act();
    const [id = ''] = newcomers();
    await engine.apply([ended]);
    expect(await act()).toEqual(['remove unproven']);
    expect(newcomers()).toEqual([]);
    await expectStrangersIn();
    expect(await membership()).toMatchObject({
      state: 'failed',
      failure: expect.stringMatching(/^Unproven: .*not show/),
    });
    expect((await messages()).at(-1)).toMatch(/^Unproven: /);
    expect(await troubles()).toEqual(['studio 1']);

    engine.clock.advance(hourMs);
    expect(await act()).toEqual(['remove unproven']);
    expect(await membership()).toMatchObject({ state: 'failed' });

    tool.deactivate(id);
    engine.clock.advance(hourMs);
    expect(await act()).toEqual(['remove already_absent']);
    engine.clock.advance(hourMs);
    expect(await act()).toEqual(['remove already_absent']);
    expect(await membership()).toMatchObject({ state: 'removed' });
    expect(await troubles()).toEqual([]);
  });

  it('that shows nobody: the removal is sent after an addition whose answer was lost', async () => {
    await open({ showsMembers: 'never' });
    await engine.apply([started]);
    const database = crashingAtReceipt(engine.database);
    const adding = converge(engine, { ...createMemoryTool(), adapter }, await claimOne(engine), { database });
    await expect(adding).rejects.toThrow('crash');
    expect(newcomers()).toHaveLength(1);
    expect(await membership()).toMatchObject({ memberId: null });
    engine.clock.advance(convergeLeaseMs);
    await engine.apply([ended]);
    expect(await act()).toEqual(['remove unproven']);
    expect(newcomers()).toEqual([]);
    await expectStrangersIn();
  });

  it('that shows nobody: an account with the id of a trainer and the address of a stranger stays in', async () => {
    await open({ showsMembers: 'as_empty' });
    await engine.apply([started]);
    await act();
    const [id = ''] = newcomers();
    tool.giveOut(id, 'erin@lab.example');
    await engine.apply([ended]);
    await act();
    expect(newcomers()).toEqual([id]);
    expect(await membership()).toMatchObject({ doubtedId: id });
  });

  it('that shows nobody: the account that Gangway made is deactivated, and that proves it', async () => {
    await open({ showsMembers: 'as_empty' }, { createGroups: false });
    await engine.apply([started]);
    await act();
    const [id = ''] = newcomers();
    await engine.apply([ended]);
    expect(await act()).toEqual(['remove removed']);
    expect(newcomers()).toEqual([]);
    expect(tool.users().find((user) => user.id === id)).toMatchObject({ active: false });
    expect(await membership()).toMatchObject({ state: 'removed' });
    await expectStrangersIn();
  });

  it.each(['on_request', 'in_accounts'] as const)(
    'that shows members %s: an addition and a removal are proven',
    async (showsMembers) => {
      await open({ showsMembers });
      await engine.apply([started]);
      expect(await act()).toEqual(['add added']);
      await engine.apply([ended]);
      expect(await act()).toEqual(['remove removed']);
      expect(newcomers()).toEqual([]);
      await expectStrangersIn();
      expect(await membership()).toMatchObject({ state: 'removed' });
      expect(sent('PUT')).toBe(0);
    },
  );

  it('that shows members late: nobody is removed by mistake, and the trainer is out in the end', async () => {
    await open({ showsMembers: 'late' });
    await engine.apply([started]);
    expect(await act()).toEqual(['add failed']);
    engine.clock.advance(hourMs);
    expect(await act()).toEqual(['add added']);
    await expectStrangersIn();
    await engine.apply([ended]);
    for (let tries = 0; tries < 5 && (await membership())?.state !== 'removed'; tries += 1) {
      await act();
      engine.clock.advance(hourMs);
    }
    expect(await membership()).toMatchObject({ state: 'removed' });
    expect(newcomers()).toEqual([]);
    await expectStrangersIn();
  });

  it('that stops showing who is in a group: the removal is sent, and is unproven', async () => {
    const dialect: ScimDialect = {};
    await open(dialect);
    await engine.apply([started]);
    expect(await act()).toEqual(['add added']);
    dialect.showsMembers = 'as_empty';
    await engine.apply([ended]);
    expect(await act()).toEqual(['remove unproven']);
    expect(newcomers()).toEqual([]);
    await expectStrangersIn();
    delete dialect.showsMembers;
    engine.clock.advance(hourMs);
    expect(await act()).toEqual(['remove removed']);
    expect(await membership()).toMatchObject({ state: 'removed' });
  });

  it('without PATCH: a list that has shown no addition of Gangway is not written back', async () => {
    await open({ patch: [] });
    await engine.apply([started]);
    expect(await act()).toEqual(['add refused']);
    expect(sent('PUT')).toBe(0);
    expect(tool.members(group)).toEqual(strangers);
  });

  it('without PATCH: a group that Gangway created is written whole from then on, until it shows nobody', async () => {
    const dialect: ScimDialect = { patch: [] };
    await open(dialect, { offboarding: 'group' });
    tool.forgetGroup(group);
    await engine.apply([started]);
    expect(await act()).toEqual(['add added']);
    strangers = [tool.seed({ userName: 'one' }, group)];
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'c2', trainer: 't2' })]);
    expect(await act()).toEqual(['add added']);
    expect(newcomers()).toHaveLength(2);
    await expectStrangersIn();

    dialect.showsMembers = 'as_empty';
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'c3', trainer: 't3' })]);
    expect(await act()).toEqual(['add refused']);
    expect(newcomers()).toHaveLength(2);
    await expectStrangersIn();
  });

  it('that shows the others: a trainer whom another hand took out is removed with one more call, and proven', async () => {
    await open({});
    await engine.apply([started]);
    await act();
    const [id = ''] = newcomers();
    await adapter.removeMember(group, { id, email: null }, new AbortController().signal);
    await engine.apply([ended]);
    expect(await act()).toEqual(['remove removed']);
    expect(await membership()).toMatchObject({ state: 'removed' });
    expect((await messages()).at(-1)).not.toMatch(/Unproven/);
  });
});
