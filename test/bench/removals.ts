import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { migrate } from '../../src/db/migrate.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { createEngine, inStudio } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { say } from './bench.ts';
import { withBenchDatabases } from './bench-database.ts';
import { percentile } from './percentile.ts';

/**
 * `npm run bench:removals`: what it costs to look at removals that all wait for the marketplace, and for how long nothing
 * else can run meanwhile. In milliseconds, medians of some rounds.
 */
const { values } = parseArgs({
  options: {
    waiting: { type: 'string', default: '100,1000,5000' },
    rounds: { type: 'string', default: '9' },
    database: { type: 'string', default: 'sqlite' },
    folder: { type: 'string', default: '.' },
  },
});
const rounds = Number(values.rounds);

await withBenchDatabases({ postgres: values.database === 'postgres', folder: values.folder }, async (databases) => {
  for (const waiting of values.waiting.split(',').map(Number)) {
    const { lookMs, blockedMs } = await measure(await databases.create(`waiting_${waiting}`), waiting);
    const says = `a look takes ${lookMs.toFixed(1)} ms, and nothing else runs for ${blockedMs.toFixed(1)} ms at most`;
    say(`${values.database}, ${waiting} waiting: ${says}`);
  }
});

async function measure(url: string, waiting: number): Promise<{ lookMs: number; blockedMs: number }> {
  const database = openDatabase(url);
  try {
    await migrate(database);
    const engine = createEngine(database, { installs: new Map([['acme', inStudio()]]) });
    const people = Array.from({ length: waiting }, (_, index) => index + 1);
    await engine.apply(people.map((number) => about('contract.started', number)));
    await database.kysely
      .updateTable('membership')
      .set((eb) => ({ state: 'active', isOurs: true, memberId: eb.ref('trainerId') }))
      .execute();
    await engine.apply(people.map((number) => about('contract.ended', number)));
    // In the first they begin to wait.
    await engine.brake();
    const [looks, blocks] = [[] as number[], [] as number[]];
    for (let round = 0; round < rounds; round += 1) {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      await wait(5);
      const begunAt = performance.now();
      await engine.brake();
      looks.push(performance.now() - begunAt);
      // What blocked to the end is seen after it.
      await wait(5);
      delay.disable();
      blocks.push(delay.max / 1e6);
    }
    const rows = await database.kysely.selectFrom('awaitedReading').selectAll().execute();
    if (rows.length !== waiting) throw new Error(`${rows.length} wait, and not ${waiting}`);
    return { lookMs: percentile(looks, 0.5), blockedMs: percentile(blocks, 0.5) };
  } finally {
    await database.close();
  }
}

function about(type: string, number: number): string {
  return fullEvent({ type, contract: `c${number}`, trainer: `t${number}`, link: `l${number % 20}` });
}
