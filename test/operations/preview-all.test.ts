import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { outcomeOfRun } from '../../src/domain/run.ts';
import { toInstant } from '../../src/lib/clock.ts';
import type { Source } from '../../src/marketplace/source.ts';
import { previewAll } from '../../src/operations/reconcile.ts';
import { countRunWork, lastReceiptId } from '../../src/reconcile/runs/run-store.ts';
import type { OpenFresh } from '../support/databases.ts';
import { createIncident, hours, minutes, toApi } from '../support/incident.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase, tries } from '../support/tries.ts';

const { signal } = new AbortController();
const links = { cml1: 'signs' };
const crowd = ['ada', 'ben', 'cleo', 'dora', 'eli', 'finn', 'gil'];
type Person = (typeof crowd)[number];

/** An install whose people come and go, and whose tool lists its members. */
async function open(openFresh: OpenFresh, database?: Awaited<ReturnType<OpenFresh>>) {
  const tool = createMemoryTool('membership', { lists: true });
  const incident = createIncident(database ?? (await openFresh()), { tool });
  const hired = new Set<Person>();
  const ended = new Set<Person>();
  const refused = new Set<string>();
  tool.before = (call, subject) => {
    const isRefused = call !== 'find' && call !== 'list' && refused.has(subject.split('/')[1] ?? '');
    if (isRefused) throw new AppError('invalid', 'The tool refuses them', { status: 422 });
  };
  const contractsOf = (people: Iterable<Person>) =>
    Object.fromEntries([...people].map((who) => [`con-${who}`, { links: ['cml1'], people: [who] }]));
  const listing = () => ({ links, active: contractsOf(hired), ended: contractsOf(ended) });

  async function dryRun() {
    const sources = new Map([['acme', toApi(listing()) as Source]]);
    const [previewed] = await previewAll({ ...incident.engine, sources }, ['acme'], signal, () => undefined);
    if (previewed === undefined) throw new Error('nothing was previewed');
    const { outcome, added, removed, held, failed } = previewed;
    return { outcome: outcome === 'pending' ? 'applied' : outcome, added, removed, held, failed };
  }

  async function run() {
    const { clock } = incident.engine;
    const now = toInstant(clock.now());
    const since = { at: now, afterReceipt: await lastReceiptId(incident.engine) };
    await incident.read(listing());
    const work = await countRunWork(incident.engine, 'acme', since, now, now);
    const { plan: _, left, ...numbers } = work;
    return { outcome: outcomeOfRun(numbers, left), ...numbers };
  }

  return { incident, tool, hired, ended, refused, dryRun, run };
}

type World = Awaited<ReturnType<typeof open>>;

/**
 * No dry run looks for each person: what another hand has done already of what is to be done is
 * found by the run alone, and so are the trainers that a tool refuses from now on.
 */
const steps: Record<string, (world: World, who: Person) => unknown> = {
  'is hired': ({ hired, ended, tool }, who) => {
    if (!ended.has(who) && !tool.members('signs').includes(who)) hired.add(who);
  },
  'has ended': ({ hired, ended, tool }, who) => {
    if (tool.members('signs').includes(who) && hired.delete(who)) ended.add(who);
  },
  'is taken out by another hand': ({ hired, tool }, who) => {
    if (hired.has(who)) tool.unseat('signs', who);
  },
  'is put in by another hand': ({ hired, tool }, who) => {
    if (!hired.has(who) && !tool.members('signs').includes(who)) tool.seed('signs', who, `${who}@opentrain.work`);
  },
  'ends, as is delivered': async ({ incident, hired, ended, tool }, who) => {
    if (!tool.members('signs').includes(who) || !hired.delete(who)) return;
    ended.add(who);
    const about = { contract: `con-${who}`, trainer: who, link: 'cml1', project: 'signs' };
    await incident.take('contract.ended', about);
  },
};

describeAnyDatabase('a dry run predicts the run', (openFresh) => {
  const openHired = async (...people: Person[]) => {
    const world = await open(openFresh);
    for (const who of people) world.hired.add(who);
    await world.run();
    return world;
  };

  async function agree(world: World) {
    const said = await world.dryRun();
    const done = await world.run();
    expect(said).toEqual(done);
    return done.outcome;
  }

  it('if a trainer is missing in the tool, and is added back', async () => {
    const world = await openHired('ada', 'ben');
    world.tool.unseat('signs', 'ada');
    world.incident.engine.clock.advance(2 * minutes);
    expect(await agree(world)).toBe('applied');
    expect(world.tool.members('signs').sort()).toEqual(['ada', 'ben']);
  });

  it('if a removed trainer is in the tool again, before and after the grace period', async () => {
    const world = await openHired('ada', 'ben');
    world.hired.delete('ada');
    world.ended.add('ada');
    expect(await agree(world)).toBe('applied');
    world.incident.engine.clock.advance(25 * hours);
    world.tool.seed('signs', 'ada', 'ada@opentrain.work');
    expect(await agree(world)).toBe('clean');
    world.incident.engine.clock.advance(16 * minutes);
    expect(await agree(world)).toBe('applied');
    expect(world.tool.members('signs')).toEqual(['ben']);
  });

  it('if the brake holds the removals', async () => {
    const world = await openHired('ada', 'ben', 'cleo');
    for (const who of ['ada', 'ben']) {
      world.hired.delete(who);
      world.ended.add(who);
    }
    expect(await agree(world)).toBe('held');
    expect(await agree(world)).toBe('held');
  });

  it('if a tool refuses a trainer', async () => {
    const world = await openHired('ada');
    world.hired.add('ben');
    world.refused.add('ben');
    await world.run();
    world.hired.add('cleo');
    expect(await agree(world)).toBe('failed');
  });

  it('after any history', async () => {
    const step = fc.tuple(
      fc.constantFrom(...Object.keys(steps)),
      fc.constantFrom(...crowd),
      fc.constantFrom(2 * minutes, 16 * minutes, 2 * hours, 25 * hours),
      fc.boolean(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (story) => {
        const world = await openHired('ada', 'ben', 'cleo', 'dora');
        for (const [name, who, ms, isRead] of story) {
          await steps[name]?.(world, who);
          world.incident.engine.clock.advance(ms);
          if (isRead) await agree(world);
        }
        await agree(world);
      }),
      { numRuns: tries(50), endOnFailure: false },
    );
  });
});
