import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { comparedMembersOf } from '../../src/reconcile/drift/drift-store.ts';
import { judgeDrift, judgeUnconfirmed } from '../../src/reconcile/drift/judge-drift.ts';
import { storageOf } from '../support/storage-of.ts';
import { withBenchDatabases } from './bench-database.ts';
import { createMadeRows } from './made-rows.ts';
import { percentile } from './percentile.ts';

/**
 * `npm run bench:drift`: what the comparison of one group costs, without and with 100,000 former members. The tool lists
 * who is in, as it should be. In milliseconds, the median of some rounds, and the ratio.
 */
const { values } = parseArgs({
  options: {
    in: { type: 'string', default: '500' },
    former: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '9' },
    database: { type: 'string', default: 'sqlite' },
    folder: { type: 'string', default: '.' },
  },
});
const [inside, former, rounds] = [Number(values.in), Number(values.former), Number(values.rounds)];
const group = { tool: 'studio', groupId: 'signs' };
const longAgo = '2026-01-01T00:00:00.000Z';
const listing = {
  listedAt: '2026-02-01T00:00:00.000Z',
  accounts: Array.from({ length: inside }, (_, index) => ({
    id: `account-${index + 1}`,
    digests: [`digest-${index + 1}`],
    isManaged: false,
    isProtected: false,
  })),
};

await withBenchDatabases({ postgres: values.database === 'postgres', folder: values.folder }, async (databases) => {
  const alone = await measure(await databases.create('alone'), inside);
  const among = await measure(await databases.create('among'), inside + former);
  const says = `${inside} in: ${alone.toFixed(1)} ms; ${former} who were in, too: ${among.toFixed(1)} ms`;
  process.stdout.write(`${values.database}: ${says}; ratio ${(among / alone).toFixed(1)}\n`);
});

async function measure(url: string, memberships: number): Promise<number> {
  const database = openDatabase(url);
  try {
    await migrate(database);
    await fill(database, memberships);
    const storage = storageOf(database);
    const times: number[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const begunAt = performance.now();
      const known = await comparedMembersOf(storage, database.kysely, group, listing);
      const verdicts = judgeDrift(known, listing.accounts);
      judgeUnconfirmed(known, listing.accounts);
      // The first is the one in which statements are prepared.
      if (round > 0) times.push(performance.now() - begunAt);
      if (verdicts.length > 0) throw new Error(`${verdicts.length} are not as they should be`);
    }
    return percentile(times, 0.5);
  } finally {
    await database.close();
  }
}

/** The first are in, the others were added and taken out. */
async function fill(database: Database, memberships: number): Promise<void> {
  const db = database.kysely;
  const counter = createMadeRows(database).counter(memberships);
  const isIn = sql`n <= ${sql.lit(inside)}`;
  await sql`insert into membership (tool, group_id, trainer_id, install, wanted, generation, state, is_ours, attempts,
      updated_at, member_id)
    ${counter} select ${group.tool}, ${group.groupId}, 'trainer-' || n, 'acme', case when ${isIn} then 1 else 0 end, 1,
      case when ${isIn} then 'active' else 'removed' end, 1, 0, ${sql.lit(longAgo)}, 'account-' || n from counter`.execute(
    db,
  );
  await sql`insert into membership_address (membership_id, install, trainer_id, work_email, work_email_digest,
      is_current, given_at)
    ${counter} select n, 'acme', 'trainer-' || n, 'sealed', 'digest-' || n, 1, ${sql.lit(longAgo)} from counter`.execute(
    db,
  );
  for (const [operation, outcome] of [
    ['add', 'added'],
    ['remove', 'removed'],
  ] as const) {
    await sql`insert into intent (membership_id, generation, operation, was_found, created_at)
      ${counter} select n, 1, ${sql.lit(operation)}, 0, ${sql.lit(longAgo)} from counter`.execute(db);
    await sql`insert into receipt (membership_id, generation, operation, outcome, created_at)
      ${counter} select n, 1, ${sql.lit(operation)}, ${sql.lit(outcome)}, ${sql.lit(longAgo)} from counter`.execute(db);
  }
}
