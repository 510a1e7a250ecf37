import { expect, it } from 'vitest';
import type { Install } from '../../src/installs/install.ts';
import { createExplainStore } from '../../src/memberships/explain-store.ts';
import { createLinkRouter } from '../../src/memberships/link-router.ts';
import { withoutUnkept } from '../../src/operator/bearing-at.ts';
import { type Explanation, explain } from '../../src/operator/explain.ts';
import { explainAt } from '../../src/operator/explain-at.ts';
import { pauseBetween } from '../support/between.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { createRandom } from '../support/random.ts';
import { createPast, type Past } from '../support/random-past.ts';
import { tries } from '../support/tries.ts';

const tool = createMemoryTool();
const adapters = new Map([['studio', tool.adapter]]);

/** What the running engine says now. */
async function explainNow(engine: Engine, past: Past, subject: string): Promise<Explanation[]> {
  const installs = installsOf(past);
  const bearing = await createExplainStore(engine.database, engine.box).load(subject);
  const rules = { installs, adapters, routeLink: createLinkRouter(installs, adapters), managedDomains: [] };
  return explain(withoutUnkept(bearing), { ...rules, troubles: new Map() }).map((one) => ({ ...one, action: null }));
}

function installsOf({ installs }: Past): Map<string, Install> {
  const install = { token: '', webhookSecrets: [], tool: 'studio', projects: ['*'], livesIn: 'database' } as const;
  return new Map(installs.map((name) => [name, install]));
}

interface Stop {
  /** Where it was stopped, for people. */
  where: string;
  instant: string;
  subject: string;
  said: Explanation[];
}

async function liveThrough(engine: Engine, past: Past, steps: number): Promise<Stop[]> {
  const stops: Stop[] = [];
  for (let step = 1; step <= steps; step += 1) {
    await past.step(engine, tool);
    const subject = past.subjects[step % past.subjects.length] ?? '';
    const said = await explainNow(engine, past, subject);
    const instant = await pauseBetween();
    stops.push({ where: `${past.installs[0]}, after step ${step}, about ${subject}`, instant, subject, said });
  }
  return stops;
}

/** `PASTS=1000` lives through so many. */
const pasts = Number(process.env['PASTS'] ?? tries(10));

describeEachDatabase('why trainers had access at an instant', (openFresh) => {
  it('is what the engine said when it was stopped there, for any past', async () => {
    const engine = createEngine(await openFresh());
    const { database, box } = engine;
    const sayings = new Set<string>();
    for (let run = 1; run <= pasts; run += 1) {
      const past = createPast(createRandom(run), run);
      const deps = { database, box, adapters, installs: installsOf(past) };
      for (const { where, instant, subject, said } of await liveThrough(engine, past, 100)) {
        const { explanations } = await explainAt(deps, subject, instant);
        expect(explanations, where).toEqual(said);
        for (const says of explanations.flatMap(saidIn)) sayings.add(says);
      }
    }
    // Else a past in which nothing happens would prove it too.
    expect([...sayings].sort()).toEqual(expect.arrayContaining(ofAnyPast));
  });
});

/** What it says, without what differs between pasts. */
function saidIn({ steps }: Explanation): string[] {
  return steps.map(({ says }) => says.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|[a-z]*\d?-\d+/g, '#'));
}

const ofAnyPast = ['active in # of studio', 'the contract is active', 'the contract is ended (delivered, of #)'];
