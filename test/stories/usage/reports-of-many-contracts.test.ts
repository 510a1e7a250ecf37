import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { openForTest, sqlite } from '../../support/databases.ts';
import { tries } from '../../support/tries.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';

/** With all tries twenty thousand: more days than a call may have arguments. */
const people = tries(20_000);
const days = 7;

it('counts the days of many contracts', async () => {
  const world = await openUsageWorld(openForTest(await sqlite.createMigrated()));
  const { engine, report, fates } = world;
  await world.link('signs');
  await world.learn();
  await hireMany(engine.database);
  fates.push('lost');
  const left = people * days;
  expect(await report()).toMatchObject({ outcome: 'failed', sent: 0, left, held: 0 });
});

/** People with a contract each, who have worked on seven days. */
async function hireMany({ kysely }: Database): Promise<void> {
  const numbers = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(people)})`;
  const id = sql`'many' || i`;
  await sql`${numbers} insert into contract (install, contract_id)
    select 'acme', ${id} from n`.execute(kysely);
  await sql`${numbers} insert into contract_link (install, contract_id, link_id)
    select 'acme', ${id}, link_id from n cross join link`.execute(kysely);
  await sql`${numbers} insert into participation (install, contract_id, trainer_id, seen_at)
    select 'acme', ${id}, ${id}, '2026-03-09T00:00:00.000Z' from n`.execute(kysely);
  for (let day = 9; day < 9 + days; day += 1) {
    const on = `2026-03-${String(day).padStart(2, '0')}`;
    await sql`${numbers} insert into usage_day
      (tool, scope, member_id, day, trainer_id, seconds, tasks, labels, seen_at)
      select 'studio', 'signs', ${id}, cast(${on} as text), ${id}, 60, 1, 3, cast(${on} as text)
      from n`.execute(kysely);
  }
}
