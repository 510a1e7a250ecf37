import { beforeEach, expect, it } from 'vitest';
import {
  clearFindingTraces,
  type Finding,
  type FindingFilter,
  type FoundAccount,
  keepFindingGroups,
  keepFindings,
  listFindings,
  listGroupDrifts,
} from '../../../src/reconcile/drift/finding-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';

const group = { tool: 'studio', groupId: 'street-signs' };
const at = (minute: number) => `2026-03-15T10:0${minute}:00.000Z`;

describeEachDatabase('the findings of a listing', (openFresh) => {
  let engine: Engine;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
  });

  const stranger = (id: string, email: string | null = `${id}@elsewhere.example`, name: string | null = null) => ({
    kind: 'stranger' as const,
    membershipId: null,
    account: { id, email, name } satisfies FoundAccount,
  });
  const missing = (membershipId: number) => ({ kind: 'missing' as const, membershipId, account: null });
  const keep = (minute: number, ...findings: Finding[]) =>
    keepFindings(engine, group, { install: 'acme', listedAt: at(minute), listed: 7, findings });
  const kinds = ['missing', 'stranger'] as const;
  const list = async () => {
    const all = await listFindings(engine, { kinds, limit: 100 });
    return all.map(({ membershipId, account, since }) => [account?.id ?? membershipId, since]).sort();
  };

  it('replace the earlier ones, and keep their time while they last', async () => {
    await keep(1, stranger('a'), stranger('b'), missing(4));
    await keep(2, stranger('b'), stranger('c'), missing(4));
    expect(await list()).toEqual([
      [4, at(1)],
      ['b', at(1)],
      ['c', at(2)],
    ]);
    await keep(3, stranger('b', 'new@elsewhere.example', 'Bea'));
    expect(await listFindings(engine, { kinds, limit: 100 })).toMatchObject([
      {
        ...group,
        since: at(1),
        listedAt: at(3),
        install: 'acme',
        account: { id: 'b', email: 'new@elsewhere.example', name: 'Bea' },
        member: null,
      },
    ]);
    expect(await listGroupDrifts(engine, { limit: 10 })).toEqual([
      { ...group, install: 'acme', listedAt: at(3), listed: 7, unkept: 0, counts: { stranger: 1 } },
    ]);
  });

  it('are sealed: the table has no address and no name', async () => {
    await keep(1, stranger('a@elsewhere.example', 'a@elsewhere.example', 'Ada'));
    const text = JSON.stringify(await engine.rows('driftFinding'));
    expect(text).not.toMatch(/elsewhere|Ada/);
    const [row] = await engine.database.kysely.selectFrom('driftFinding').selectAll().execute();
    expect(row?.content?.toString('latin1')).not.toMatch(/elsewhere|Ada/);
  });

  it('are kept up to a thousand per group, and the rest is counted', async () => {
    const many = Array.from({ length: 1003 }, (_, index) => stranger(`s${index}`));
    await keep(1, ...many);
    await keep(2, ...many);
    expect(await listGroupDrifts(engine, { limit: 10 })).toMatchObject([{ unkept: 3, counts: { stranger: 1000 } }]);
    let seen = 0;
    for (let page = await listFindings(engine, { kinds, limit: 400 }); page.length > 0; ) {
      seen += page.length;
      const last = page.at(-1);
      page = last === undefined ? [] : await listFindings(engine, { kinds, limit: 400, after: last });
    }
    expect(seen).toBe(1000);
  });

  it('are deleted with the group, and after a month without a listing', async () => {
    const other = { tool: 'studio', groupId: 'lamps' };
    const listing = { listed: 1, findings: [stranger('a')] };
    await keepFindings(engine, group, { ...listing, install: 'acme', listedAt: at(1) });
    await keepFindings(engine, other, { ...listing, install: 'globex', listedAt: at(2) });
    await keepFindingGroups(engine, 'acme', [group], at(1));
    expect(await listGroupDrifts(engine, { limit: 10 })).toHaveLength(2);
    await keepFindingGroups(engine, 'acme', [], at(1));
    expect(await listGroupDrifts(engine, { limit: 10 })).toMatchObject([other]);
    expect(await engine.rows('driftFinding')).toHaveLength(1);
    await keepFindingGroups(engine, 'acme', [], at(3));
    expect(await listGroupDrifts(engine, { limit: 10 })).toEqual([]);
    expect(await engine.rows('driftFinding')).toEqual([]);
  });

  it('are filtered by tool and group, and paged', async () => {
    const [lamps, far] = [
      { tool: 'studio', groupId: 'lamps' },
      { tool: 'attic', groupId: 'lamps' },
    ];
    for (const one of [group, lamps, far]) {
      await keepFindings(engine, one, { install: 'acme', listedAt: at(1), listed: 1, findings: [stranger('a')] });
    }
    const groups = async (filter: Partial<FindingFilter>) =>
      (await listGroupDrifts(engine, { limit: 10, ...filter })).map(({ tool, groupId }) => [tool, groupId].join());
    expect(await groups({})).toEqual(['attic,lamps', 'studio,lamps', 'studio,street-signs']);
    expect(await groups({ tool: 'studio', groupId: 'lamps' })).toEqual(['studio,lamps']);
    expect(await groups({ after: lamps })).toEqual(['studio,street-signs']);
    expect(await listFindings(engine, { kinds, groupId: 'lamps', limit: 10 })).toHaveLength(2);
    expect(await listFindings(engine, { kinds: ['missing'], limit: 10 })).toEqual([]);
  });

  it('of a person are found by the addresses that an install knows, and cleared', async () => {
    const digest = engine.box.digest('cmu1@opentrain.work');
    const person = { install: 'acme', trainerId: 'cmu1', workEmailDigest: digest };
    await engine.database.kysely.insertInto('person').values(person).execute();
    await keep(1, stranger('x', 'CMU1@opentrain.work'), stranger('y', null));
    const { kysely } = engine.database;
    expect(await clearFindingTraces(kysely, 'cmu1', ['globex'])).toBe(0);
    expect(await clearFindingTraces(kysely, 'cmu1', ['acme'])).toBe(1);
    expect(await list()).toEqual([['y', at(1)]]);
  });
});
