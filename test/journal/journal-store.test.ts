import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { emptyChain, faultOf, type JournalRow } from '../../src/journal/chain.ts';
import { createJournalStore, type JournalStore } from '../../src/journal/journal-store.ts';
import { convergeDue } from '../support/converging.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool } from '../support/memory-tool.ts';

const started = fullEvent({ type: 'contract.started', displayName: 'Amara Okafor', workEmail: 'amara@opentrain.work' });
const ended = fullEvent({ type: 'contract.ended' });

/** Later than the hire. */
function laterBy(hours: number): string {
  return `2026-03-16T0${hours}:00:00.000Z`;
}

/** Two that are later than an absence or an end. */
const observed = (column: string): object[] => [{ [column]: laterBy(2) }, { [column]: laterBy(3) }];

describeEachDatabase('the evidence journal', (openFresh) => {
  let engine: Engine;
  let journal: JournalStore;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    journal = createJournalStore(engine.database);
  });

  async function hire(): Promise<void> {
    await engine.apply([started]);
    await convergeDue(engine, createMemoryTool());
    await journal.sealAll();
  }

  const rows = () => journal.list(0, 1000);
  const subjectsOf = (listed: readonly JournalRow[]) => [...new Set(listed.map(({ subject }) => subject))].sort();

  it('has every change that access follows from, in one chain', async () => {
    await hire();
    const listed = await rows();
    expect(subjectsOf(listed)).toEqual(
      ['contract', 'contract_link', 'link', 'membership', 'participation', 'person', 'reason', 'receipt'].sort(),
    );
    let head = emptyChain;
    for (const row of listed) {
      expect(faultOf(head, row)).toBeNull();
      head = row;
    }
    expect(await journal.head()).toEqual({ seq: listed.length, hash: listed.at(-1)?.hash });
  });

  it('names no person', async () => {
    await hire();
    const text = JSON.stringify(await rows()).toLowerCase();
    expect(text).toContain('cmu1');
    for (const word of ['amara', 'okafor', 'opentrain.work']) expect(text).not.toContain(word);
  });

  it('grows by nothing where a reading confirms what is known', async () => {
    await hire();
    const before = await journal.head();
    for (const minutes of [5, 10, 15]) {
      engine.clock.advance(minutes * 60_000);
      const at = engine.clock.now().toISOString();
      const [contract] = await engine.database.kysely.selectFrom('contract').selectAll().execute();
      await engine.database.kysely
        .updateTable('contract')
        .set({ ...contract, activeReadAt: at })
        .execute();
      await engine.database.kysely.updateTable('link').set({ seenAt: at }).execute();
      await engine.database.kysely.updateTable('participation').set({ seenAt: at }).execute();
    }
    await journal.sealAll();
    // The first reading that lists it is one.
    expect((await journal.head()).seq - before.seq).toBe(1);
  });

  it.each([
    ['an observation after an absence of a link', 'link', [{ absences: laterBy(1) }, ...observed('seenAt')]],
    ['one of a participation', 'participation', [{ absences: laterBy(1) }, ...observed('seenAt')]],
    ['one of a contract at a link', 'contractLink', [{ omissions: laterBy(1) }, ...observed('namedAt')]],
    [
      'a grant that answers after it was revoked',
      'installGrant',
      [{ revokedEventAt: laterBy(1) }, ...observed('activeReadAt')],
    ],
  ] as const)('grows by %s, and not by the next', async (_what, table, changes) => {
    await hire();
    const { kysely } = engine.database;
    await kysely
      .insertInto('installGrant')
      .values({ install: 'acme', grantId: 'g1', activeReadAt: laterBy(0) })
      .execute();
    await journal.sealAll();
    expect(await growths(table, changes)).toEqual([1, 1, 0]);
  });

  it('grows by each reading that contradicts an end', async () => {
    await hire();
    const changes = [{ endedEventAt: laterBy(1) }, ...observed('activeReadAt')];
    expect(await growths('contract', changes)).toEqual([1, 1, 1]);
  });

  /** By how many rows it grows with each change of a table's one row. */
  async function growths(
    table: 'contract' | 'contractLink' | 'installGrant' | 'link' | 'participation',
    changes: readonly object[],
  ) {
    const grown: number[] = [];
    for (const change of changes) {
      const { seq } = await journal.head();
      await engine.database.kysely.updateTable(table).set(change).execute();
      await journal.sealAll();
      grown.push((await journal.head()).seq - seq);
    }
    return grown;
  }

  it('goes on where it was, also for several that seal at once', async () => {
    await hire();
    const before = await journal.head();
    await engine.apply([ended]);
    await Promise.all([1, 2, 3].map(() => createJournalStore(engine.database).sealAll()));
    const added = await journal.list(before.seq, 1000);
    expect(added.map(({ seq }) => seq)).toEqual(added.map((_, index) => before.seq + index + 1));
    expect(subjectsOf(added)).toEqual(['contract', 'membership']);
  });

  it.each([
    ['deleted', sql`delete from journal where seq = 1`],
    ['changed', sql`update journal set fact = '{}' where seq = 1`],
    ['sealed anew', sql`update journal set hash = 'x' where seq = 1`],
  ])('lets no row be %s', async (_, statement) => {
    await hire();
    await expect(statement.execute(engine.database.kysely)).rejects.toThrow('rows of the journal are never');
  });

  it('notes what no table holds once, until it is something else', async () => {
    for (const tool of ['studio', 'studio', 'cvat', 'studio']) {
      await journal.note('configuration', { installs: { acme: { tool, projects: ['*'] } } });
    }
    await journal.sealAll();
    expect((await rows()).map(({ fact }) => JSON.parse(fact ?? '').installs.acme.tool)).toEqual([
      'studio',
      'cvat',
      'studio',
    ]);
  });

  it('remembers the deletion of an invitation, and forgets with it nothing of before', async () => {
    await hire();
    const { kysely } = engine.database;
    const [{ id } = { id: 0 }] = await engine.membershipRows();
    const invitation = { membershipId: id, kind: 'link', createdAt: 'now', attempts: 0 } as const;
    await kysely.insertInto('invitation').values(invitation).execute();
    await journal.sealAll();
    const { seq } = await journal.head();
    await kysely.deleteFrom('invitation').execute();
    await journal.sealAll();
    const at = async (position: number) => (await journal.factsAt(position, 'invitation', [`[${id}]`])).get(`[${id}]`);
    expect(await at(seq)).toMatchObject({ kind: 'link' });
    expect(await at(seq + 1)).toBeUndefined();
  });
});
