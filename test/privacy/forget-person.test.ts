import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { expect, it, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { sqliteFileOf } from '../../src/db/sqlite-database.ts';
import type { MembershipState } from '../../src/domain/membership.ts';
import { openBody, pageDeliveries } from '../../src/inbox/inbox-store.ts';
import { type ForgetOptions, forgetPerson } from '../../src/privacy/forget-person.ts';
import { createSweep } from '../../src/privacy/sweep.ts';
import { keepFindings } from '../../src/reconcile/drift/finding-store.ts';
import { openForTest, sqlite } from '../support/databases.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { type EventWish, fullEvent, minimalEvent } from '../support/event-bodies.ts';
import { insert } from '../support/insert.ts';
import { inviteAll } from '../support/invite.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const address = 'amara.o@opentrain.work';
const name = 'Amara Okonkwo-Distinctive';

describeAnyDatabase('forgetting a person', (openFresh) => {
  it('clears all their personal data in every table, and that of nobody else', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    const other = { trainer: 't10', contract: 'c10', workEmail: 't10@opentrain.work' };
    await engine.deliver([event('contract.started', other)]);
    await engine.takeIn();
    await traceInTools(engine);
    expect(await forget('t1')).toEqual({
      trainerId: 't1',
      installs: ['acme', 'globex'],
      neededBy: [],
      people: 2,
      titles: 2,
      deliveries: 4,
      // A membership and a receipt.
      toolTraces: 2,
      deliveriesLeft: 0,
    });
    const rows = await engine.rows('person');
    const rowsOf = (trainerId: string) => rows.filter((row) => Reflect.get(row, 'trainerId') === trainerId);
    expect(rowsOf('t1')).toEqual(
      ['acme', 'globex'].map((install) => ({
        install,
        trainerId: 't1',
        displayName: null,
        displayNameVersion: null,
        workEmail: null,
        workEmailDigest: null,
        workEmailVersion: null,
        workEmailDomain: null,
        addressMissing: null,
        addressMissingVersion: null,
      })),
    );
    expect(rowsOf('t10')).toMatchObject([{ displayName: name }]);
    expect(await bodiesOf(engine)).toEqual([expect.stringContaining('"t10"')]);
    expect(await engine.rows('participation')).toHaveLength(3);
    expect(await engine.rows('audit')).toMatchObject([
      { actor: 'ada', action: 'forget', subject: 'trainer t1 at acme, globex' },
    ]);
    expect(await forget('t1')).toMatchObject({
      people: 0,
      titles: 0,
      deliveries: 0,
      toolTraces: 0,
    });
  });

  it('clears an account that a tool lists under their address, and that of nobody else', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    const account = (email: string) => ({
      kind: 'stranger' as const,
      membershipId: null,
      account: { id: email, email, name },
    });
    const listing = { install: 'acme', listedAt: engine.clock.now().toISOString(), listed: 2 };
    const findings = [account(address.toUpperCase()), account('ben@opentrain.work')];
    await keepFindings(engine, { tool: 'studio', groupId: 'signs' }, { ...listing, findings });
    expect((await forget('t1')).toolTraces).toBeGreaterThan(0);
    const [left, other] = await engine.rows('driftFinding');
    expect([left, other]).toMatchObject([{ addressDigest: engine.box.digest('ben@opentrain.work') }, undefined]);
  });

  it('clears their invitation even if it was not handed over', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    await settleMemberships(engine, false, 'released');
    await inviteAll(engine);
    expect(await forget('t1', { dryRun: true })).toMatchObject({ toolTraces: 1 });
    expect(await engine.rows('invitation')).toHaveLength(1);
    expect(await forget('t1')).toMatchObject({ toolTraces: 1 });
    expect(await engine.rows('invitation')).toEqual([]);
    expect(await engine.rows('intent')).toMatchObject([{ credential: null }]);
  });

  it('clears the ids of a tool under which their work was read, and those of nobody else', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    await settleMemberships(engine, false, 'released');
    const { kysely } = engine.database;
    const scope = { tool: 'studio', scope: 'signs' };
    for (const [memberId, trainerId] of [
      [address, 't1'],
      ['another@opentrain.work', 't10'],
    ] as const) {
      const person = { ...scope, memberId, trainerId };
      await insert(kysely, 'usagePerson', { ...person, generation: 1 });
      const item = { ...scope, memberId, itemId: memberId, taskId: '1', isDone: true, grown: '[]' };
      const doneAt = '2026-03-15T12:00:00.000Z';
      const days = { doneDay: '2026-03-15', doneAt, lastDay: '2026-03-15', labels: 1, seconds: null };
      await insert(kysely, 'usageItem', { ...item, ...days });
      const day = { day: '2026-03-15', seconds: 1, tasks: 1, labels: 1, isFrozen: false };
      const seenAt = '2026-03-15T12:00:00.000Z';
      await insert(kysely, 'usageDay', { ...person, ...day, seenAt });
    }
    expect(await forget('t1', { dryRun: true })).toMatchObject({ toolTraces: 3 });
    expect(await forget('t1')).toMatchObject({ toolTraces: 3 });
    for (const table of ['usagePerson', 'usageItem', 'usageDay'] as const) {
      expect(await engine.rows(table)).toMatchObject([{ memberId: 'another@opentrain.work' }]);
    }
  });

  it('changes nothing in a dry run, and counts the same', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    await traceInTools(engine);
    const dump = async () =>
      JSON.stringify([
        await engine.rows('person'),
        await engine.rows('delivery'),
        await engine.rows('membership'),
        await engine.rows('contract'),
        await engine.rows('forgottenPerson'),
        await engine.rows('audit'),
      ]);
    const before = await dump();
    const foreseen = await forget('t1', { dryRun: true });
    expect(await dump()).toBe(before);
    expect(await forget('t1')).toEqual(foreseen);
  });

  it('finds them by their address, in any case', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    await expect(forget('unknown@opentrain.work')).rejects.toMatchObject({
      code: 'not_found',
      message: 'No person is known by the address u…@opentrain.work',
    });
    expect(await forget('Amara.O@OpenTrain.work')).toMatchObject({ trainerId: 't1', people: 2 });
  });

  it('asks for an id if several people have the address', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    await engine.apply([event('contract.started', { trainer: 't2', contract: 'c9' })]);
    await expect(forget(address)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('(t1, t2)'),
    });
  });

  it('says that nobody has the id', async () => {
    const { forget } = await openWorld(openFresh);
    await expect(forget('t9')).rejects.toMatchObject({ code: 'not_found', message: 'There is no trainer t9' });
  });

  it('is refused only by an install with an active contract', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    await engine.apply([event('contract.started', { contract: 'c7' })], 'initech');
    await settleMemberships(engine, false, 'removed');
    for (const dryRun of [true, false]) {
      await expect(forget('t1', { dryRun, install: 'initech' })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringMatching(/install initech: .* active contract there \(c7\)/),
      });
    }
    expect(await bodiesOf(engine)).toHaveLength(4);
    const reason = 'they have an active contract there (c7)';
    const expected = { installs: ['acme', 'globex'], neededBy: [{ install: 'initech', reason }] };
    expect(await forget('t1', { dryRun: true })).toMatchObject(expected);
    expect(await forget('t1')).toMatchObject({ ...expected, deliveries: 4, people: 2 });
    expect(await countNamed(engine)).toBe(1);
    await engine.apply([event('contract.ended', { contract: 'c7' })], 'initech');
    await settleMemberships(engine, false, 'removed');
    const rest = { installs: ['acme', 'globex', 'initech'], people: 1, deliveries: 0 };
    expect(await forget('t1')).toMatchObject({ ...rest, neededBy: [] });
    expect(await countNamed(engine)).toBe(0);
  });

  it('says that an install knows nothing of them', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    await expect(forget('t1', { install: 'initech' })).rejects.toMatchObject({
      code: 'not_found',
      message: 'initech knows nothing of the trainer t1',
    });
    await expect(forget(address, { install: 'initech' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it.each<[boolean, MembershipState, boolean]>([
    [false, 'removing', false],
    [false, 'failed', false],
    [true, 'active', false],
    [false, 'removed', true],
    [false, 'released', true],
  ])('of a member (wanted %s, %s) is done: %s', async (wanted, state, isDone) => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    await settleMemberships(engine, wanted, state);
    const forgetting = forget('t1', { install: 'acme' }).then(
      () => true,
      ({ code }: { code: string }) => (code === 'conflict' ? false : code),
    );
    expect(await forgetting).toBe(isDone);
    // The delivery to globex stays, because globex was not asked.
    expect(await bodiesOf(engine)).toHaveLength(isDone ? 1 : 4);
  });

  it('is refused if they are hired meanwhile', async () => {
    const { engine } = await openWorld(openFresh);
    await hireAndEnd(engine);
    const { transact } = engine.database;
    // The first transaction removes deliveries, after the first look.
    const hired = vi.fn(() => engine.apply([event('contract.started', { contract: 'c8' })]));
    const database: Database = {
      ...engine.database,
      async transact(work, isDurable) {
        if (hired.mock.calls.length === 0) await hired();
        return await transact(work, isDurable);
      },
    };
    await expect(createForget({ ...engine, database })('t1')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('active contract there (c8'),
    });
    expect(await countNamed(engine)).toBe(2);
  });

  it('keeps deliveries that are not handled yet, and counts them', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    await engine.deliver([event('contract.ended', { id: '7000000077' })]);
    const foreseen = await forget('t1', { dryRun: true });
    expect(foreseen).toMatchObject({ deliveries: 4, deliveriesLeft: 1 });
    expect(await forget('t1')).toMatchObject({ deliveries: 4, deliveriesLeft: 1 });
    await engine.takeIn();
    expect(await forget('t1')).toMatchObject({ people: 1, deliveries: 1, deliveriesLeft: 0 });
  });

  it('lasts: the next round clears what comes again, until they are hired again', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await hireAndEnd(engine);
    await forget('t1');
    await engine.apply([event('contract.started')]);
    expect(await countNamed(engine)).toBe(1);
    await sweepThrough(engine);
    expect(await countNamed(engine)).toBe(0);

    await engine.apply([event('contract.started', { contract: 'c8' })]);
    await sweepThrough(engine);
    expect(await countNamed(engine)).toBe(1);
    expect(await engine.rows('forgottenPerson')).toMatchObject([{ install: 'globex' }]);
    await engine.apply([event('contract.ended', { contract: 'c8' })]);
    await settleMemberships(engine, false, 'removed');
    await sweepThrough(engine);
    expect(await countNamed(engine)).toBe(1);
  });

  it('skips deliveries without a body', async () => {
    const { engine, forget } = await openWorld(openFresh);
    await engine.deliver(['{"type":"payout.sent","resourceId":"t1"}']);
    await engine.deliver([event('contract.started'), event('contract.ended')]);
    await engine.takeIn();
    expect(await forget('t1')).toMatchObject({ deliveries: 2, deliveriesLeft: 0 });
    expect(await engine.rows('delivery')).toMatchObject([{ state: 'ignored' }]);
  });

  it('reads more than one page of deliveries', async () => {
    const { engine, forget } = await openWorld(openFresh);
    const ids = Array.from({ length: 230 }, (_, index) => String(7_100_000_000 + index));
    await engine.deliver(ids.map((id) => event('contract.started', { id })));
    await engine.deliver([event('contract.ended')]);
    await engine.takeIn();
    expect(await forget('t1')).toMatchObject({ deliveries: 231 });
    expect(await bodiesOf(engine)).toEqual([]);
  });
});

describeAnyDatabase('forgetting a person that another customer names too', (openFresh) => {
  /** A former trainer of globex, whom acme also has on a contract with the same project. */
  async function openNamedByTwo() {
    const world = await openWorld(openFresh);
    const { engine } = world;
    await engine.deliver([event('contract.started', { contract: 'c2' })], 'globex');
    await engine.takeIn();
    await engine.deliver([event('contract.started', { contract: 'forged' })]);
    await engine.deliver([event('contract.ended', { contract: 'c2' })], 'globex');
    await engine.takeIn();
    await traceInTools(engine);
    return world;
  }

  it('is not refused for that, and clears nothing of the other', async () => {
    const { engine, forget } = await openNamedByTwo();
    const ofAcme = async () =>
      JSON.stringify(
        await Promise.all(
          (['person', 'contract', 'participation', 'delivery'] as const).map(async (table) =>
            (await engine.rows(table)).filter((row) => Reflect.get(row, 'install') === 'acme'),
          ),
        ),
      );
    const [before, memberships] = [await ofAcme(), await engine.membershipRows()];
    expect(memberships).toMatchObject([{ install: 'acme', wanted: true, memberId: address }]);
    const foreseen = await forget('t1', { dryRun: true });
    expect(foreseen).toMatchObject({
      installs: ['globex'],
      neededBy: [{ install: 'acme' }],
      people: 1,
      deliveries: 2,
      // The tool's answer is about a membership that acme was a reason for.
      toolTraces: 0,
    });
    expect(await forget('t1')).toEqual(foreseen);
    expect(await ofAcme()).toBe(before);
    expect(await engine.membershipRows()).toEqual(memberships);
    const people = (await engine.rows('person')) as { install: string; displayName: unknown }[];
    expect(people.find(({ install }) => install === 'globex')).toMatchObject({ displayName: null, workEmail: null });
  });

  it('lasts there, whatever the other does', async () => {
    const { engine, forget } = await openNamedByTwo();
    await forget('t1', { install: 'globex' });
    await engine.apply([event('contract.started', { contract: 'c2' })], 'globex');
    expect(await countNamed(engine)).toBe(2);
    await sweepThrough(engine);
    expect(await countNamed(engine)).toBe(1);
    expect(await engine.rows('forgottenPerson')).toMatchObject([{ install: 'globex', trainerId: 't1' }]);
  });

  it('clears what the tool said once both have forgotten them', async () => {
    const { engine, forget } = await openNamedByTwo();
    await forget('t1', { install: 'globex' });
    await engine.apply([event('contract.ended', { contract: 'forged' })]);
    await settleMemberships(engine, false, 'removed');
    expect(await forget('t1', { install: 'acme' })).toMatchObject({ toolTraces: 2 });
    expect(await engine.membershipRows()).toMatchObject([{ memberId: null, failure: null }]);
  });

  it('deletes no deliveries by an address that another install made up', async () => {
    const { engine, forget } = await openWorld(openFresh);
    const victim = { trainer: 't2', contract: 'c2', workEmail: 't2@opentrain.work' };
    await engine.deliver([event('contract.started', victim)], 'globex');
    await engine.deliver([event('contract.ended', { contract: 'c9' })], 'globex');
    await engine.deliver([event('contract.ended', { workEmail: victim.workEmail })]);
    await engine.takeIn();
    expect(await forget('t1')).toMatchObject({ deliveries: 2 });
    expect(await bodiesOf(engine)).toEqual([expect.stringContaining('"t2"')]);
  });

  it('keeps the work of projects where they still are', async () => {
    const { engine, forget } = await openNamedByTwo();
    const { kysely } = engine.database;
    const away = { contract: 'c3', project: 'lamps', link: 'cml2' };
    await engine.apply([event('contract.started', away)], 'globex');
    await engine.apply([event('contract.ended', away)], 'globex');
    await kysely.updateTable('membership').set({ state: 'removed' }).where('wanted', '=', false).execute();
    for (const scope of ['street-signs', 'lamps']) {
      await insert(kysely, 'usageScopeGroup', { tool: 'studio', groupId: scope, scope });
      await insert(kysely, 'usagePerson', { tool: 'studio', scope, memberId: address, trainerId: 't1', generation: 1 });
    }
    expect(await forget('t1', { dryRun: true })).toMatchObject({ toolTraces: 1 });
    expect(await forget('t1')).toMatchObject({ toolTraces: 1 });
    expect(await engine.rows('usagePerson')).toMatchObject([{ scope: 'street-signs' }]);
  });
});

it('leaves nothing of a name in the file of SQLite', async () => {
  const database = openForTest(await sqlite.createMigrated());
  const engine = createEngine(database);
  await hireAndEnd(engine);
  const inFile = async () => {
    await sql`pragma wal_checkpoint(truncate)`.execute(database.kysely);
    const file = sqliteFileOf(database.url) ?? '';
    return [file, `${file}-wal`].some((one) => readFileSync(one).includes(name));
  };
  expect(await inFile()).toBe(true);
  await createForget(engine)('t1');
  expect(await inFile()).toBe(false);
});

async function openWorld(openFresh: () => Promise<Database>) {
  const engine = createEngine(await openFresh());
  return { engine, forget: createForget(engine) };
}

function createForget(engine: Engine) {
  const { signal } = new AbortController();
  return (who: string, { dryRun = false, install }: Partial<ForgetOptions> = {}) =>
    forgetPerson(engine, who, { dryRun, by: { actor: 'ada', at: '2026-03-15T12:00:00.000Z' }, install }, signal);
}

function event(type: string, wish: Partial<EventWish> = {}): string {
  const theirs = { contract: 'c1', trainer: 't1', displayName: name, workEmail: address };
  return fullEvent({ type, ...theirs, ...wish });
}

/** One person at two installs in one membership, and a delivery without an id. */
async function hireAndEnd(engine: Engine): Promise<void> {
  await engine.deliver([event('contract.started')]);
  await engine.takeIn();
  await engine.deliver([event('contract.ended')]);
  await engine.deliver([minimalEvent('contract.ended', 'c1')]);
  await engine.deliver([event('contract.ended', { contract: 'c2' })], 'globex');
  await engine.takeIn();
}

async function traceInTools({ database }: Engine): Promise<void> {
  const trace = { memberId: address, failure: `no seat for ${name}` };
  const theirs = database.kysely.updateTable('membership').set(trace).where('trainerId', '=', 't1');
  await theirs.execute();
  const { id } = await database.kysely
    .selectFrom('membership')
    .select('id')
    .where('trainerId', '=', 't1')
    .executeTakeFirstOrThrow();
  await insert(database.kysely, 'receipt', {
    membershipId: id,
    generation: 1,
    operation: 'add',
    outcome: 'failed',
    toolStatus: 400,
    message: `no seat for ${name}`,
    createdAt: '2026-03-15T12:00:00Z',
  });
}

async function settleMemberships({ database }: Engine, wanted: boolean, state: MembershipState) {
  const theirs = database.kysely.updateTable('membership').where('trainerId', '=', 't1');
  await theirs.set({ wanted, state }).execute();
}

async function bodiesOf(ctx: Engine): Promise<string[]> {
  return (await pageDeliveries(ctx, 0, 1000)).map((row) => openBody(ctx, row).toString());
}

async function countNamed(engine: Engine): Promise<number> {
  const people = (await engine.rows('person')) as { displayName: string | null }[];
  return people.filter(({ displayName }) => displayName !== null).length;
}

async function sweepThrough(engine: Engine): Promise<void> {
  const sweep = createSweep(engine);
  while (await sweep());
}
