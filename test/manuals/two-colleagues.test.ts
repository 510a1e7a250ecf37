import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Files } from '../../src/manuals/manual-folder.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { tries } from '../support/tries.ts';
import { type Colleagues, type Command, commands, type Draw, idsOf, openColleagues } from './colleagues.ts';
import { type Desk, isClear, readPage, stemsOf, tasks } from './desk.ts';
import { editNames, openMarket, partsOf } from './market.ts';

const taskNames = Object.keys(tasks) as (keyof typeof tasks)[];

const step = fc.record({
  act: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...taskNames) },
    { weight: 3, arbitrary: fc.constantFrom('heed' as const, ...commands) },
    { weight: 1, arbitrary: fc.constantFrom(...editNames) },
  ),
  who: fc.constantFrom(0 as const, 1 as const),
  page: fc.nat(7),
  luck: fc.nat(63),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const isOne = <T extends string>(names: readonly T[], name: string): name is T => names.some((one) => one === name);

async function take(world: Colleagues, { act, who, ...draw }: Step): Promise<void> {
  const desk = world.desks[who];
  if (!(await world.hasBegun(desk))) return;
  if (isOne(taskNames, act)) await world.work(desk, act, draw);
  else if (isOne(editNames, act)) await world.edit(act, draw);
  else if (act === 'heed') await world.heed(desk);
  else await run(world, desk, act, draw);
  if (!isOne(taskNames, act)) await world.check();
}

const anyDraw: Draw = { page: 0, luck: 0 };

/** A command, which does all or nothing, and says what to do. */
async function run({ market, command }: Colleagues, desk: Desk, name: Command, draw = anyDraw): Promise<string> {
  const [{ manualId, revision }, files] = [await market.read(), desk.files];
  const result = await command(desk, name, draw);
  for (const says of desk.says) requireClear(says, name === 'check' ? {} : desk.files, files);
  const made = (await market.read()).revision - revision;
  const isExact = name !== 'overtaken push' && name !== 'lost push' && manualId !== undefined;
  if (isExact) expect([result, made]).toEqual([result, result === 'changed' ? 1 : 0]);
  // All of it was done.
  if (result === 'changed' && desk.says.length === 0) expect(await command(desk, 'check', draw)).toBe('unchanged');
  return result;
}

/** A message is about a file that is there, and says what can be done. Nobody is told to look for what was only moved. */
function requireClear(says: string, files: Files, before: Files): void {
  expect(says).toSatisfy(isClear);
  const [missing] = /(?<=There is no page )[\w/-]+\.md/.exec(says) ?? [];
  if (missing === undefined) return;
  expect(Object.keys(files), says).not.toContain(missing);
  expect(idsOf(files), says).not.toContain(readPage(before[missing]).front.id ?? 'none');
}

const mostTurns = 12;

/** Both do what is said, pull and push, until nothing is left to do. */
async function settle(world: Colleagues): Promise<void> {
  for (let turn = 0; turn < mostTurns; turn += 1) {
    const results = [];
    for (const desk of world.desks) {
      if (!(await world.hasBegun(desk))) continue;
      await run(world, desk, 'pull');
      await world.heed(desk);
      results.push(await run(world, desk, 'push'));
      await world.check();
      await world.heed(desk);
    }
    if (results.every((result) => result === 'unchanged')) return;
  }
  expect.fail('They never agree');
}

/** Both folders have what the marketplace has, and no command changes anything. */
async function compare({ desks, market, command }: Colleagues): Promise<void> {
  const there = (await market.read()).pages.flatMap((page) => {
    const { pageId: id, title, position, audience, parentId, isArchived } = page;
    return isArchived ? [] : [{ id, title, position, audience, parentId, parts: partsOf(page) }];
  });
  for (const desk of desks) {
    const before = desk.files;
    expect(await command(desk, 'pull', anyDraw)).toBe('pulled');
    expect([desk.says, desk.files]).toEqual([[], before]);
    expect(await command(desk, 'check', anyDraw)).toBe('unchanged');
    const here = stemsOf(before).map((stem) => {
      const { front, parts } = readPage(before[`${stem}.md`]);
      const { id, title, position, audience } = front;
      const parentId = readPage(before[`${stem.replace(/\/[^/]*$/, '')}.md`]).front.id ?? null;
      return { id, title, position, audience, parentId, parts };
    });
    const byId = (pages: readonly { id?: string | undefined }[]) => Map.groupBy(pages, ({ id }) => id);
    expect(byId(here)).toEqual(byId(there));
  }
}

const of = (act: Step['act'], who: 0 | 1 = 0, page = 0, luck = 0): Step => ({ act, who, page, luck });

/** Both have the same pages. */
const begin = [of('addPage'), of('addPage', 0, 0, 2), of('addPage', 0, 0, 4), of('push'), of('pull', 1)];

/** What once went wrong. */
const examples: [hasBegun: boolean, steps: Step[]][] = [
  // No push ended while a position was too high.
  [true, [of('reorder', 0, 2, 3)]],
  // A change that had been undone was not made again.
  [true, [1, 2, 1].flatMap((luck) => [of('showTo', 0, 0, luck), of('push')])],
  // A page was made twice, or a manual, when the answer was lost.
  [false, [of('addPage'), of('lost push'), of('retitle'), of('editPart'), of('push')]],
  [false, [of('addPage'), of('lost push'), of('editPart'), of('push')]],
  // A page stayed behind when the page above it was moved there.
  [true, [of('addPage', 0, 0, 1), of('move at the marketplace', 0, 0, 2), of('push')]],
  [true, [of('move', 0, 0, 3), of('move at the marketplace', 0, 2, 2), of('push')]],
  // A message was about a file that was not written.
  [true, [of('addPage', 0, 0, 1), of('archive'), of('push')]],
];

describe('two colleagues, and a person at the marketplace', () => {
  it('lose nothing, and agree in the end', async () => {
    const sandbox = createSandbox({ timeScale: 0 });
    const { employerBaseUrl } = await sandbox.start();
    onTestFinished(() => sandbox.stop());
    const steps = fc.array(step, { minLength: 1, maxLength: 30 });
    const check = fc.asyncProperty(fc.boolean(), steps, async (hasBegun, drawn) => {
      const world = openColleagues(openMarket(sandbox, employerBaseUrl));
      for (const one of [...(hasBegun ? begin : []), ...drawn]) await take(world, one);
      await settle(world);
      await compare(world);
    });
    await fc.assert(check, { numRuns: tries(400), examples });
  });
});
