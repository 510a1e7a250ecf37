import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { carryTools } from '../../src/tools/bind-tool.ts';
import { learnToolBinding, listToolBindings } from '../../src/tools/tool-binding-store.ts';
import { convergeDue } from '../support/converging.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool } from '../support/memory-tool.ts';

const at = (url: string) => ({ settings: { url } });

describeEachDatabase('what is ours in a tool that has a new name', (openFresh) => {
  async function openOne() {
    const engine = createEngine(await openFresh());
    await engine.apply([fullEvent({ type: 'contract.started' })]);
    await convergeDue(engine, createMemoryTool());
    await learnToolBinding(engine, 'studio', { identity: null, location: 'tool.example' });
    const carry = (tools: Record<string, string>) => {
      const configured = Object.entries(tools).map(([tool, url]) => [tool, at(url)] as const);
      return carryTools(engine, new Map(configured), engine.logger);
    };
    const names = async () => (await engine.membershipRows()).map(({ tool, isOurs }) => [tool, isOurs]);
    return { engine, carry, names };
  }

  it('is carried over in every table of Gangway, and in none of another program', async () => {
    const { engine, carry, names } = await openOne();
    const { kysely, dialect } = engine.database;
    if (dialect === 'postgres') {
      await sql`create schema other`.execute(kysely);
      await sql`create table other.machine (tool text)`.execute(kysely);
      await sql`insert into other.machine values ('studio')`.execute(kysely);
    }
    await carry({ atelier: 'https://tool.example/' });
    expect(await names()).toEqual([['atelier', true]]);
    expect(await listToolBindings(engine)).toMatchObject([{ tool: 'atelier', location: 'tool.example' }]);
    if (dialect !== 'postgres') return;
    const { rows } = await sql`select tool from other.machine`.execute(kysely);
    expect(rows).toEqual([{ tool: 'studio' }]);
    await sql`drop schema other cascade`.execute(kysely);
  });

  it.each([
    ['the address is another', { atelier: 'https://other.example' }, []],
    ['two new names have the address', { atelier: 'https://tool.example', loft: 'https://tool.example' }, []],
    ['two old names had the address', { atelier: 'https://tool.example' }, ['loft']],
    ['the old name is still configured', { studio: 'https://tool.example', atelier: 'https://tool.example' }, []],
  ])('stays with the old name if %s', async (_, tools, olds) => {
    const { engine, carry, names } = await openOne();
    for (const tool of olds) await learnToolBinding(engine, tool, { identity: null, location: 'tool.example' });
    await carry(tools);
    expect(await names()).toEqual([['studio', true]]);
  });
});
