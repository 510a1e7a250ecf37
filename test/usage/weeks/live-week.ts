import { sql } from 'kysely';
import type { Database } from '../../../src/db/database.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { openDatabase } from '../../../src/db/open-database.ts';
import { judge } from './judge.ts';
import { drawPlan, type Plan, type Step } from './plan.ts';
import { read, report, take } from './steps.ts';
import { noteAnswered, noteSending, type Week } from './week.ts';
import { openWorld } from './world.ts';

export type Weeks = Awaited<ReturnType<typeof openWeeks>>;

/** Lives through weeks in one database, which is emptied between them: creating one takes longer than a week. */
export async function openWeeks() {
  const database = openDatabase('sqlite::memory:');
  await migrate(database);
  const tables = await listTables(database);
  return {
    /** @returns what was wrong at the end */
    async live(plan: Plan, onLog: (line: string) => void = () => undefined): Promise<string[]> {
      await empty(database, tables);
      return await liveThrough(database, plan, onLog);
    },
    close: () => database.close(),
  };
}

async function listTables({ kysely }: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master
    where type = 'table' and name not like 'sqlite_%' and name not like 'kysely_%'`.execute(kysely);
  return rows.map(({ name }) => name);
}

async function empty({ kysely }: Database, tables: readonly string[]): Promise<void> {
  await sql`pragma foreign_keys = off`.execute(kysely);
  for (const table of tables) await sql`delete from ${sql.table(table)}`.execute(kysely);
  await sql`pragma foreign_keys = on`.execute(kysely);
}

const minuteMs = 60_000;

async function liveThrough(database: Database, plan: Plan, onLog: (line: string) => void): Promise<string[]> {
  const world = openWorld(database, plan);
  const week: Week = {
    ...{ world, memory: new Map(), imports: [], decisions: new Map(), closed: new Set(), reopened: new Set() },
    ...{
      dismissed: new Map(),
      dismissedEver: new Map(),
      earlierTotals: new Map(),
      most: new Map(),
      reported: null,
      worked: { due: new Map(), held: [] },
      begunAt: '',
      pieces: 0,
      faults: [],
    },
    log: (line) => onLog(`${world.clock.now().toISOString().slice(5, 19)} ${line}`),
  };
  world.market.onSending = (key) => {
    week.log(`  sends ${key}`);
    noteSending(week, key);
  };
  world.market.onAnswered = (key) => noteAnswered(week, key);
  try {
    for (const step of plan.steps) {
      await take(week, step);
      if (week.faults.length > 0) return week.faults;
    }
    const faults = [...week.faults, ...(await judge(week, false))];
    if (faults.length > 0) return faults;
    await settle(week);
    return [...week.faults, ...(await judge(week, true)).map((fault) => `settled: ${fault}`)];
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}

/** Lets time pass without faults until everything that can be sent was sent. */
async function settle(week: Week): Promise<void> {
  const { market, clock } = week.world;
  week.log('settle');
  market.refused.clear();
  market.arrive();
  clock.advance(25 * 60 * minuteMs);
  await read(week, { isComplete: true, breaksOff: false });
  for (let round = 0; round < 2; round += 1) {
    await report(week, true);
    clock.advance(11 * minuteMs);
  }
}

/** Leaves out steps as long as the others fail in the same way. */
async function shorten(weeks: Weeks, plan: Plan): Promise<Plan> {
  const kind = kindOf(await weeks.live(plan));
  let steps: readonly Step[] = plan.steps;
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < steps.length; ) {
      const without = [...steps.slice(0, from), ...steps.slice(from + size)];
      const isSame = kindOf(await weeks.live({ ...plan, steps: without })) === kind;
      if (isSame) steps = without;
      else from += size;
    }
  }
  return { ...plan, steps: [...steps] };
}

/** The first fault, without its day. */
export function kindOf([first = '']: readonly string[]): string {
  return first
    .replaceAll(/c\d+|amara|bo\b|\d{4}-\d\d-\d\d|import:?\d+|[-\d]+\/[-\d]+\/[-\d]+|; due.*/g, '')
    .slice(0, 160);
}

/** What to print of a seed that fails. */
export async function describe(weeks: Weeks, seed: number): Promise<string> {
  const plan = await shorten(weeks, drawPlan(seed));
  const lines: string[] = [];
  const faults = await weeks.live(plan, (line) => lines.push(line));
  const { steps, ...traits } = plan;
  return [`seed ${seed}, ${steps.length} steps: ${JSON.stringify(traits)}`, ...lines, ...faults].join('\n');
}
