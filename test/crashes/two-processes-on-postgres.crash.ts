import pg from 'pg';
import { describe, expect, inject, it } from 'vitest';
import { acmeSecret, startBridge, writeBridgeConfig } from '../support/bridge-process.ts';
import { openBridgeState } from '../support/bridge-state.ts';
import { postgres } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';
import { countAnswers, distinct, sendRepeatedly } from '../support/repeated-load.ts';
import { listRoster } from '../support/roster.ts';

describe('two processes on PostgreSQL', () => {
  it('store each delivery once and add each person once, although both receive each delivery twice', async () => {
    const databaseUrl = await postgres.createMigrated();
    const setup = writeBridgeConfig(createFolder(), databaseUrl);
    const state = openBridgeState(databaseUrl);
    const bridges = await Promise.all([startBridge(setup), startBridge(setup)]);

    const urls = bridges.map(({ url }) => url);
    const release = await holdDeliveries(databaseUrl);
    const { answers, members } = await sendRepeatedly(urls, acmeSecret, release);
    expect(countAnswers(answers)).toEqual({ '200 accepted': distinct, '200 duplicate': 3 * distinct });
    expect(await state.countDeliveries()).toBe(distinct);

    await state.settled();
    expect(listRoster(setup.rosterFile)).toEqual(members);
    expect(await state.countReceipts()).toEqual({ added: members.length });

    expect(await Promise.all(bridges.map((bridge) => bridge.stop()))).toEqual([0, 0]);
    for (const bridge of bridges) expect(troublesOf(bridge.log())).toEqual([]);
    // A session reports its statistics when it ends, at the latest.
    expect(await countDeadlocks(databaseUrl)).toBe(0);
  });
});

function troublesOf(log: Record<string, unknown>[]): unknown[] {
  return log.filter(({ level }) => level !== 'info');
}

/**
 * Makes both processes store the same deliveries at the same time: nothing can be stored until all have come in, and each
 * row then takes a moment.
 */
async function holdDeliveries(databaseUrl: string): Promise<() => void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`
    create function pause() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.001); return new; end $$;
    create trigger pause before insert on delivery for each row execute function pause();`);
  await client.query('begin');
  await client.query('lock table delivery in exclusive mode');
  return () => void client.end();
}

async function countDeadlocks(databaseUrl: string): Promise<number> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const client = new pg.Client({ connectionString: `${inject('postgres').url}postgres` });
  await client.connect();
  try {
    const { rows } = await client.query<{ deadlocks: string }>(
      'select deadlocks from pg_stat_database where datname = $1',
      [name],
    );
    return Number(rows[0]?.deadlocks);
  } finally {
    await client.end();
  }
}
