import { expect } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { type Install, ofPlatform } from '../../src/installs/install.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { createExplainStore } from '../../src/memberships/explain-store.ts';
import { createLinkRouter } from '../../src/memberships/link-router.ts';
import { withoutUnkept } from '../../src/operator/bearing-at.ts';
import { type Explanation, explain } from '../../src/operator/explain.ts';
import { explainAt } from '../../src/operator/explain-at.ts';
import { passInstant } from './between.ts';
import { createEngine, type Engine } from './engine-harness.ts';
import { createMemoryTool, type MemoryTool } from './memory-tool.ts';
import { createRandom } from './random.ts';
import { createPast, type Past } from './random-past.ts';

/** Random pasts: what `explain --at` says of them afterwards, beside what the engine said when it was there. */

/** Pasts from the seed `PASTS_SEED` on, and how many: each is the same whenever it is lived. */
export function seedsOfPasts(count: number): number[] {
  const first = Number(process.env['PASTS_SEED'] ?? 1);
  return Array.from({ length: count }, (_, index) => first + index);
}

/** So many times each engine is stopped and asked. */
const stopsOfPast = 100;
/** Questions under way at once: PostgreSQL answers each in a few milliseconds of waiting. */
const askedAtOnce = 5;

/**
 * Lives through a past, and asks about all its instants when it is over.
 *
 * @returns what was said, without what differs between pasts
 */
export async function askOfPast(database: Database, seed: number): Promise<ReadonlySet<string>> {
  const engine = createEngine(database);
  const tool = createMemoryTool();
  const past = createPast(createRandom(seed), seed);
  const stops = await liveThrough(engine, tool, past);
  const sayings = new Set<string>();
  const deps = { database, box: engine.box, adapters: adaptersOf(tool), installs: installsOf(past) };
  for (let asked = 0; asked < stops.length; asked += askedAtOnce) {
    const some = stops.slice(asked, asked + askedAtOnce);
    const answers = await Promise.all(some.map(({ subject, instant }) => explainAt(deps, subject, instant)));
    for (const [index, { where, said }] of some.entries()) {
      const explanations = answers[index]?.explanations ?? [];
      expect(explanations, `${where}; alone by PASTS=1 PASTS_SEED=${seed} npm run test:pasts`).toEqual(said);
      for (const says of explanations.flatMap(saidIn)) sayings.add(says);
    }
  }
  return sayings;
}

interface Stop {
  /** Where it was stopped, for people. */
  where: string;
  instant: string;
  subject: string;
  said: Explanation[];
}

async function liveThrough(engine: Engine, tool: MemoryTool, past: Past): Promise<Stop[]> {
  const stops: Stop[] = [];
  for (let step = 1; step <= stopsOfPast; step += 1) {
    await past.step(engine, tool);
    const subject = past.subjects[step % past.subjects.length] ?? '';
    const stoppedAt = new Date();
    const said = await explainNow(engine, tool, past, subject);
    const where = `${past.installs[0]}, after step ${step}, about ${subject}`;
    stops.push({ where, instant: toInstant(stoppedAt), subject, said });
    await passInstant(stoppedAt);
  }
  return stops;
}

/** What the running engine says now. */
async function explainNow(engine: Engine, tool: MemoryTool, past: Past, subject: string): Promise<Explanation[]> {
  const installs = installsOf(past);
  const adapters = adaptersOf(tool);
  const bearing = await createExplainStore(engine.database, engine.box).load(subject);
  const rules = { installs, adapters, routeLink: createLinkRouter(installs, adapters), managedDomains: [] };
  return explain(withoutUnkept(bearing), { ...rules, troubles: new Map() }).map((one) => ({ ...one, action: null }));
}

function adaptersOf({ adapter }: MemoryTool): Map<string, MemoryTool['adapter']> {
  return new Map([['studio', adapter]]);
}

function installsOf({ installs }: Past): Map<string, Install> {
  const install = {
    ...ofPlatform,
    token: '',
    webhookSecrets: [],
    tool: 'studio',
    projects: ['*'],
    livesIn: 'database',
  } as const;
  return new Map(installs.map((name) => [name, install]));
}

function saidIn({ steps }: Explanation): string[] {
  return steps.map(({ says }) => says.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|[a-z]*\d?-\d+/g, '#'));
}

/** What pasts say between them. Else some in which nothing happens would prove it too. */
export const ofAnyPast = ['active in # of studio', 'the contract is active', 'the contract is ended (delivered, of #)'];
