import type { Evidence } from '../../src/domain/evidence.ts';
import { emptyEvidence } from '../../src/domain/evidence.ts';
import { convergeDue } from './converging.ts';
import { type Engine, toEvidence } from './engine-harness.ts';
import type { MemoryTool } from './memory-tool.ts';
import { type Arrival, readAsOf, type Story, type Told, tell } from './stories.ts';

/** Stories that do not know of each other live in one database, so that many take little time. */
export interface Lived {
  story: Story;
  told: Told;
  /** Who is in the tool in the end. */
  roster: string[];
}

/** What comes in within so long comes in together. */
const tickMs = 60_000;

export async function liveTogether(
  engine: Engine,
  tool: MemoryTool,
  stories: Story[],
  name: string,
): Promise<Lived[]> {
  const beginMs = Math.ceil(engine.clock.now().getTime() / tickMs) * tickMs;
  const told = stories.map((story, index) => tell(story, beginMs, `-${name}.${index}`));
  const all = told.flatMap(({ arrivals }, index) =>
    arrivals.map((arrival) => ({ ...arrival, install: `${arrival.install}-${name}.${index}` })),
  );
  const ticks = Map.groupBy(all, ({ atMs }) => Math.floor(atMs / tickMs));
  for (const [tick, arrivals] of [...ticks].sort(([a], [b]) => a - b)) {
    moveTo(engine, (tick + 1) * tickMs);
    await takeIn(engine, arrivals);
    await convergeAll(engine, tool);
  }
  moveTo(engine, Math.max(...told.map(({ endMs }) => endMs)));
  await convergeAll(engine, tool);
  return stories.flatMap((story, index) => {
    const one = told[index];
    const run = `-${name}.${index}`;
    return one === undefined ? [] : [{ story, told: one, roster: rosterOf(tool, run) }];
  });
}

function moveTo({ clock }: Engine, ms: number): void {
  clock.advance(Math.max(0, ms - clock.now().getTime()));
}

type Named = Omit<Arrival, 'install'> & { install: string };

async function takeIn(engine: Engine, arrivals: Named[]): Promise<void> {
  const steps: Evidence[] = [];
  for (const { install, seen, atMs } of arrivals) {
    if (seen.by === 'read_began') {
      await readAsOf(seen.read, install, await engine.installStates.known(install));
    } else if (seen.by === 'event') {
      steps.push(toEvidence(seen.body, install, new Date(atMs).toISOString()));
    } else steps.push(...seen.read.evidence);
  }
  await engine.merge(steps.reduce(join, emptyEvidence()));
  while (await engine.memberships.hasPostponed()) await engine.merge(emptyEvidence());
}

function join(a: Evidence, b: Evidence): Evidence {
  return {
    contracts: [...a.contracts, ...b.contracts],
    links: [...a.links, ...b.links],
    grants: [...a.grants, ...b.grants],
    pairs: [...a.pairs, ...b.pairs],
    participations: [...a.participations, ...b.participations],
    people: [...a.people, ...b.people],
  };
}

async function convergeAll(engine: Engine, tool: MemoryTool): Promise<void> {
  while ((await convergeDue(engine, tool)).length > 0);
}

function rosterOf(tool: MemoryTool, run: string): string[] {
  return ['else', 'lamps', 'signs'].flatMap((project) =>
    tool.members(`${project}${run}`).map((trainer) => `${project}${run}/${trainer}`),
  );
}
